/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench/symbols.h"

#include "base/root.h"
#include "base/str.h"

enum { MAX_KALLSYMS = 64 * 1024 * 1024 };

const char *symbol_group_name(enum symbol_group group)
{
	static const char *const names[_SYMBOL_GROUP_MAX] = {
		[SYMBOL_OTHER] = "other",
		[SYMBOL_MEMCONTROL] = "memcontrol",
		[SYMBOL_PAGE_COUNTER] = "page_counter",
		[SYMBOL_RSTAT] = "rstat",
		[SYMBOL_SHARED] = "shared",
		[SYMBOL_INTERRUPTS] = "interrupts",
	};

	return names[group];
}

static bool contains_any(const char *name, const char *const *parts)
{
	for (; *parts; parts++)
		if (strstr(name, *parts))
			return true;
	return false;
}

/* Names change with the kernel (__mod_memcg_state, mod_memcg_state), their cores hardly. */
enum symbol_group symbol_group(const char *name)
{
	static const char *const memcontrol[] = { "mem_cgroup",	       "memcg",
						  "obj_cgroup",	       "objcg",
						  "uncharge_folio",    "uncharge_batch",
						  "refill_stock",      "drain_stock",
						  "refill_obj_stock",  "drain_obj_stock",
						  "account_obj_stock", "reclaim_high",
						  "high_work_func",    NULL };
	static const char *const shared[] = { "mod_lruvec_state",      "lruvec_stat_mod_folio",
					      "mod_lruvec_page_state", "mod_lruvec_kmem_state",
					      "folio_lruvec_lock",     NULL };
	static const char *const counter[] = { "page_counter_", "propagate_protected_usage",
					       NULL };
	static const char *const rstat[] = { "rstat_updated", "rstat_flush", NULL };
	static const char *const interrupts[] = { "irq_enable", "irqrestore", "unlock_irq",
						  NULL };

	if (contains_any(name, memcontrol))
		return SYMBOL_MEMCONTROL;
	if (contains_any(name, shared))
		return SYMBOL_SHARED;
	if (contains_any(name, counter))
		return SYMBOL_PAGE_COUNTER;
	if (contains_any(name, rstat))
		return SYMBOL_RSTAT;
	return contains_any(name, interrupts) ? SYMBOL_INTERRUPTS : SYMBOL_OTHER;
}

void symbols_done(struct symbols *symbols)
{
	free(symbols->items);
	free(symbols->text);
	*symbols = (struct symbols){};
}

/*
 * One line, "ffffffff81000000 T name" or with "\t[module]" behind it; a function's symbol, or
 * none. Modules are kept: their addresses are not those of the function before them.
 */
static bool parse_line(char *line, struct symbol *ret)
{
	char *end, *name;
	uint64_t address = strtoull(line, &end, 16);

	if (end == line || end[0] != ' ' || !end[1] || !strchr("tTwW", end[1]) || end[2] != ' ')
		return false;
	name = end + 3;
	*ret = (struct symbol){ .address = address, .name = name };
	if (!strchr(name, '\t'))
		ret->group = symbol_group(name);
	name[strcspn(name, "\t")] = '\0';
	/* padding in front of a function; nothing runs there */
	if (str_skip_prefix(name, "__pfx_"))
		return false;
	if (strchr(name + 1, '.'))
		*strchr(name + 1, '.') = '\0';
	return true;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

int symbols_parse_take(char *text, struct symbols *ret)
{
	_cleanup_symbols_ struct symbols symbols = { .text = text };
	size_t lines = 1, hidden = 0;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	symbols.items = calloc(lines, sizeof(*symbols.items));
	if (!symbols.items)
		return -ENOMEM;
	for (char *line = text, *next; line; line = next) {
		struct symbol *symbol = &symbols.items[symbols.n];

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!parse_line(line, symbol))
			continue;
		symbols.n++;
		hidden += symbol->address == 0;
	}
	if (symbols.n == 0)
		return -ENODATA;
	/* a real one at 0 would be the only one */
	if (hidden == symbols.n)
		return -EPERM;
	qsort(symbols.items, symbols.n, sizeof(*symbols.items), compare_addresses);
	*ret = symbols;
	symbols = (struct symbols){};
	return 0;
}

int symbols_load(const struct root *root, struct symbols *ret)
{
	char *text;
	int r = root_read(root, "/proc/kallsyms", MAX_KALLSYMS, &text, NULL);

	return r < 0 ? r : symbols_parse_take(text, ret);
}

size_t symbols_find(const struct symbols *symbols, uint64_t address)
{
	size_t low = 0, high = symbols->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* aliases share an address: one that says more than the others comes first */
	for (size_t i = low; i-- > 0;) {
		if (symbols->items[i].address != symbols->items[low - 1].address)
			break;
		if (symbols->items[i].group != SYMBOL_OTHER)
			return i;
	}
	return low > 0 ? low - 1 : SIZE_MAX;
}
