/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* MESSAGE_ID= of the journal records: a promise to those who look for them. What each means and
 * what to do about it is in systemd/memcg-policy.catalog. */

/* a unit has settings that the kernel does not apply */
#define MESSAGE_UNIT_UNENFORCED "694b497f5ddd418cb18f91c679cb2300"
/* a unit has settings that this version of systemd reads over */
#define MESSAGE_UNIT_IGNORED "b479b4c27ec544e19956a73a7d401616"
/* how many units and settings that are */
#define MESSAGE_SUMMARY "b6aa80141fe84f559486f020bb3a5220"
/* the running kernel is not as decided, although the boot configuration is */
#define MESSAGE_BOOT_DIFFERS "393053ebab894bc1b0c2494f4cf9d4f7"
