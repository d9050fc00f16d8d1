/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * config.txt of a Raspberry Pi: which file the firmware takes the kernel's command line from.
 * Filters ("[pi4]", "[EDID=...]") make parts of it count only for some boards, and filters of
 * different kinds add up until "[all]". What depends on a filter whose answer is not known is
 * not known either, and then this says so and by which line.
 */

#include "base/macro.h"

struct root;

enum { RPI_MAX_CONFIG = 64 * 1024, RPI_MAX_INCLUDES = 8 };

/* A setting of config.txt. Strings are owned. */
struct rpi_setting {
	char *value; /* NULL: not set */
	/* a line that may count or not, and would make it another value; 0: it is certain */
	char *unsure_path;
	unsigned unsure_line;
};

/* Initialise with {}. */
struct rpi_config {
	struct rpi_setting cmdline;
	struct rpi_setting os_prefix;
	struct rpi_setting kernel;
	struct rpi_setting device_tree;
	struct rpi_setting boot_ramdisk; /* 1: all is inside boot.img */
	/* of autoboot.txt, which is read on the first partition: where the other files are */
	struct rpi_setting boot_partition;

	/* what follows from it */
	char *cmdline_path; /* in the root, or NULL: it cannot be told */
	char *prefix;	    /* the os_prefix that is used, "" for none; NULL: cannot be told */
	char *why;	    /* one sentence part: why it cannot be told */
	char *why_path;
	unsigned why_line;
};

/*
 * Reads config.txt of the boot partition that is mounted at boot_dir ("/boot/firmware"), with
 * what it includes; a missing one is an empty one. model is that of the device tree ("Raspberry
 * Pi 4 Model B Rev 1.4"), NULL when it is not known which board this is for. 0, or a negative
 * errno when a file could not be read (why says which).
 */
int rpi_config_load(const struct root *root, const char *boot_dir, const char *model,
		    struct rpi_config *ret) _must_check_;
void rpi_config_done(struct rpi_config *config);
#define _cleanup_rpi_config_ _cleanup_(rpi_config_done)

/* Whether a filter ("pi4", "none") holds at an ordinary boot of the model: 1, 0, -1 unknown. */
int rpi_filter_holds(const char *filter, size_t size, const char *model) _pure_;
