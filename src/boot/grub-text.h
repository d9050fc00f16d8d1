/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The shell parts of the GRUB drop-in, out of grub.d/ of the source tree. */

extern const char grub_text_take_out[]; /* @PATTERN@ */
extern const char grub_text_add[];	/* @WORD@ */
