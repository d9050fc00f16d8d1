/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* GRUB's menu as a tree, and the rules by which $default names one of its entries. */

#include "base/macro.h"

#include <sys/types.h>

/* A menu entry or a submenu. */
struct grub_node {
	char *id;
	char *title;
	ssize_t parent; /* -1: top level */
	size_t index;	/* in its menu */
	bool submenu;
	ssize_t entry; /* in the list of entries; -1: boots no Linux */
};

/* Initialise with {}. */
struct grub_menu {
	struct grub_node *nodes;
	size_t n, alloc;
};

/* Without an id the title is it. */
int grub_menu_add(struct grub_menu *menu, ssize_t parent, const char *title, const char *id,
		  bool submenu, size_t *ret) _must_check_;
/* The node that $default leads to, or -1. What GRUB does not find is its first entry. */
int grub_menu_find(const struct grub_menu *menu, const char *value, ssize_t *ret) _must_check_;
/* Titles from the top, or ids, with a separator. */
int grub_menu_name(const struct grub_menu *menu, ssize_t node, bool id, const char *separator,
		   char **ret) _must_check_;
void grub_menu_done(struct grub_menu *menu);
