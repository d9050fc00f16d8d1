/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/grub-menu.h"

#include "base/str.h"

enum { MAX_DEPTH = 32 };

void grub_menu_done(struct grub_menu *menu)
{
	for (size_t i = 0; i < menu->n; i++) {
		free(menu->nodes[i].id);
		free(menu->nodes[i].title);
	}
	free(menu->nodes);
}

int grub_menu_add(struct grub_menu *menu, ssize_t parent, const char *title, const char *id,
		  bool submenu, size_t *ret)
{
	struct grub_node *node;
	size_t index = 0;

	if (!GROW(menu->nodes, menu->n, menu->alloc))
		return -ENOMEM;
	for (size_t i = 0; i < menu->n; i++)
		index += menu->nodes[i].parent == parent;
	node = &menu->nodes[menu->n];
	*node = (struct grub_node){
		.id = strdup(id ? id : title),
		.title = strdup(title),
		.parent = parent,
		.index = index,
		.submenu = submenu,
		.entry = -1,
	};
	if (!node->id || !node->title) {
		free(node->id);
		free(node->title);
		return -ENOMEM;
	}
	*ret = menu->n++;
	return 0;
}

/* The child of parent that a component of "default" names; -1 when none does. */
static ssize_t find_child(const struct grub_menu *menu, ssize_t parent, const char *name)
{
	unsigned number;

	/* an id or a title may be all digits, but GRUB takes those for a number first */
	if (str_parse_uint(name, &number) >= 0) {
		for (size_t i = 0; i < menu->n; i++)
			if (menu->nodes[i].parent == parent && menu->nodes[i].index == number)
				return (ssize_t)i;
		return -1;
	}
	for (size_t i = 0; i < menu->n; i++)
		if (menu->nodes[i].parent == parent &&
		    (streq(menu->nodes[i].id, name) || streq(menu->nodes[i].title, name)))
			return (ssize_t)i;
	return -1;
}

/* One component of "a>b"; ">>" stands for ">". *p is behind it. */
static int next_component(const char **p, char **ret)
{
	_cleanup_strbuf_ struct strbuf buf = {};

	while (**p) {
		if (**p == '>') {
			if ((*p)[1] != '>')
				break;
			(*p)++;
		}
		strbuf_addc(&buf, *(*p)++);
	}
	if (**p == '>')
		(*p)++;
	return strbuf_take(&buf, ret, NULL);
}

int grub_menu_find(const struct grub_menu *menu, const char *value, ssize_t *ret)
{
	ssize_t at = -1;

	for (;;) {
		_cleanup_free_ char *name = NULL;
		ssize_t child;
		int r = next_component(&value, &name);

		if (r < 0)
			return r;
		child = *name ? find_child(menu, at, name) : -1;
		if (child < 0)
			child = find_child(menu, at, "0");
		if (child < 0)
			break;
		at = child;
		if (!menu->nodes[at].submenu)
			break;
	}
	*ret = at;
	return 0;
}

int grub_menu_name(const struct grub_menu *menu, ssize_t node, bool id, const char *separator,
		   char **ret)
{
	_cleanup_strbuf_ struct strbuf buf = {};
	ssize_t chain[MAX_DEPTH];
	size_t n = 0;

	for (; node >= 0 && n < MAX_DEPTH; node = menu->nodes[node].parent)
		chain[n++] = node;
	while (n-- > 0) {
		const struct grub_node *at = &menu->nodes[chain[n]];

		strbuf_adds(&buf, id ? at->id : at->title);
		if (n > 0)
			strbuf_adds(&buf, separator);
	}
	return strbuf_take(&buf, ret, NULL);
}
