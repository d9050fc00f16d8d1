/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/extlinux-read.h"

#include "base/diag.h"
#include "boot/formats.h"

int extlinux_read(const struct boot *boot, const char *path, struct boot_state *state,
		  struct diag *diag)
{
	_cleanup_extlinux_ struct extlinux extlinux = {};
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = root_read(boot->root, path, EXTLINUX_MAX, &text, &size);

	if (r == -ENOENT)
		return 0;
	if (r >= 0)
		r = extlinux_parse(text, size, &extlinux);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		diag_warning(diag, &(struct diag_where){ .path = path }, "%s", strerror(-r));
		return 0;
	}
	for (size_t i = 0; i < extlinux.n; i++) {
		const struct extlinux_label *label = &extlinux.labels[i];
		struct boot_entry *entry;

		if (!label->kernel)
			continue;
		entry = boot_entries_add(&state->entries);
		if (!entry)
			return -ENOMEM;
		entry->id = strdup(label->name);
		entry->title = strdup(label->title ? label->title : label->name);
		entry->image = strdup(label->kernel);
		entry->source = strdup(path);
		if (!entry->id || !entry->title || !entry->image || !entry->source)
			return -ENOMEM;
		r = label->group >= 0 ? lines_join(text, &extlinux.lines, (size_t)label->group,
						   &entry->args)
				      : str_printf(&entry->args, "%s", "");
		if (r < 0)
			return r;
		entry->line = label->line;
		entry->is_default = label->is_default;
		entry->recovery =
			strstr(entry->title, "rescue") || strstr(entry->args, " single");
		entry->ours = label->group >= 0;
		if (!entry->ours)
			diag_warning(
				diag, &(struct diag_where){ .path = path, .line = label->line },
				"\"%s\" has no arguments that could be edited (APPEND): left "
				"as it is",
				label->name);
	}
	state->entries_known = !extlinux.includes;
	return 0;
}
