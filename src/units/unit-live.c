/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit-live.h"

#include "base/root.h"
#include "facts/running.h"
#include "units/unit-cgroup.h"
#include "units/unit-setting.h"

#include <stdio.h>

struct lens {
	const struct root *root;
	const struct running *running;
	struct unit_view *view;
};

/* "1.5G", as systemctl prints sizes, for sentences. */
static void print_size(uint64_t bytes, char *buf, size_t size)
{
	static const char suffixes[] = "BKMGTPE";
	double value = (double)bytes;
	unsigned i = 0;

	while (value >= 1024 && suffixes[i + 1]) {
		value /= 1024;
		i++;
	}
	if (bytes == UINT64_MAX)
		(void)snprintf(buf, size, "no limit");
	else
		(void)snprintf(buf, size, "%.*f%c", value == (double)(uint64_t)value ? 0 : 1,
			       value, suffixes[i]);
}

/* The sentence is replaced. */
static int say(struct unit_finding *finding, enum unit_finding_state state, const char *fmt,
	       ...) _printf_(3, 4);
static int say(struct unit_finding *finding, enum unit_finding_state state, const char *fmt,
	       ...)
{
	char *why;
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = str_vprintf(&why, fmt, ap);
	va_end(ap);
	if (r < 0)
		return r;
	free(finding->why);
	finding->why = why;
	finding->state = state;
	return 0;
}

/* --- one finding --- */

/* What the manager should have written: its own number, or the file's. False: not a number. */
static bool wanted_value(const struct unit_finding *finding, const struct unit_live *live,
			 const struct unit_setting *setting, uint64_t *ret)
{
	if (unit_live_value(live, setting, ret))
		return true;
	if (finding->has_bytes) {
		*ret = finding->bytes;
		return true;
	}
	return false;
}

/* The file says one thing, the manager works with another. */
static int judge_difference(struct unit_finding *finding, const struct unit_live *live,
			    uint64_t manager)
{
	char has[32];

	print_size(manager, has, sizeof(has));
	return say(finding, UNIT_UNENFORCED, "the manager works with %s=%s%s", finding->setting,
		   has,
		   live->need_reload ? ", its files have changed: systemctl daemon-reload"
				     : "");
}

static int judge_answer(struct unit_finding *finding, const struct unit_setting *setting,
			const struct unit_cgroup_answer *answer)
{
	char has[32];

	switch (answer->hold) {
	case UNIT_HOLDS:
		return finding->state == UNIT_ENFORCED
			       ? 0
			       : say(finding, UNIT_ENFORCED, "the kernel holds it");
	case UNIT_HOLDS_OTHER:
		print_size(answer->value, has, sizeof(has));
		return say(finding, UNIT_UNENFORCED,
			   "the kernel has %s: writing it failed, or something else changed it",
			   has);
	case UNIT_HOLDS_NO_FILE:
		/* the files alone knew it: a v1 tree */
		if (finding->state == UNIT_UNENFORCED)
			return 0;
		return say(finding, UNIT_UNENFORCED, "this kernel has no %s%s",
			   setting->file ? setting->file : "such control",
			   strstr(setting->file ?: "", "swap") ? ": it does not account swap"
							       : "");
	case UNIT_HOLDS_NOT_ON:
		/* the files alone knew why */
		if (finding->state == UNIT_UNENFORCED)
			return 0;
		if (!answer->stopped_below)
			return say(finding, UNIT_UNENFORCED,
				   "the memory controller is not in the unit's cgroup");
		return say(finding, UNIT_UNENFORCED,
			   "the memory controller is not passed on below the cgroup %s",
			   answer->stopped_below);
	case UNIT_HOLD_UNKNOWN:
	default:
		return 0;
	}
}

/* A setting without a number has none of these. */
static int judge_value(struct unit_finding *finding, const struct unit_live *live,
		       const struct unit_setting *setting, bool *ret_done)
{
	uint64_t manager;

	if (setting->form != UNIT_VALUE_SIZE || !setting->file ||
	    !unit_live_value(live, setting, &manager))
		return 0;
	/* a percentage, now that the memory it is of is known */
	if (finding->has_share && !finding->has_bytes && manager != UINT64_MAX) {
		finding->has_bytes = true;
		finding->bytes = manager;
	}
	if (!finding->has_bytes ||
	    unit_cgroup_round(finding->bytes) == unit_cgroup_round(manager))
		return 0;
	*ret_done = true;
	return judge_difference(finding, live, manager);
}

static int look_at_kernel(const struct lens *lens, struct unit_finding *finding,
			  const struct unit_live *live, const struct unit_setting *setting)
{
	const struct running *running = lens->running;
	bool v1 = running->hierarchy == HIERARCHY_V1 || running->hierarchy == HIERARCHY_HYBRID;
	struct unit_cgroup_answer answer = {};
	uint64_t want = 0;
	int r;

	if (setting->form == UNIT_VALUE_SIZE && !wanted_value(finding, live, setting, &want))
		return 0;
	if (setting->form == UNIT_VALUE_BOOL)
		(void)unit_live_value(live, setting,
				      &want); /* else false, what was asked for */
	r = unit_cgroup_look(lens->root, running->memory_tree ?: "/sys/fs/cgroup", v1,
			     live->cgroup, setting, want, &answer);
	if (r >= 0)
		r = judge_answer(finding, setting, &answer);
	unit_cgroup_answer_done(&answer);
	return r;
}

/* Whether the kernel can be asked about it at all. */
static bool is_visible(const struct unit_finding *finding, const struct unit_setting *setting)
{
	return setting && setting->form != UNIT_VALUE_CONTROLLERS &&
	       setting->form != UNIT_VALUE_CONDITION && finding->state != UNIT_IGNORED &&
	       finding->state != UNIT_INVALID;
}

/* The loaded unit that a finding is about; of a quadlet it is the service made of it. */
static struct unit_live *find_live(const struct unit_view *view,
				   const struct unit_finding *finding)
{
	for (size_t i = 0; i < view->units.quadlets.n; i++)
		if (streq(view->units.quadlets.items[i].name, finding->unit))
			return unit_bus_find(&view->bus, view->units.quadlets.items[i].service);
	return unit_bus_find(&view->bus, finding->unit);
}

/* Whatever it says besides. */
static int say_reload(struct unit_finding *finding, const struct unit_live *live)
{
	char *why;
	int r;

	if (!live->need_reload || strstr(finding->why, "daemon-reload"))
		return 0;
	r = str_printf(&why, "%s; its files have changed: systemctl daemon-reload",
		       finding->why);
	if (r < 0)
		return r;
	free(finding->why);
	finding->why = why;
	return 0;
}

static int look_at_finding(const struct lens *lens, struct unit_finding *finding)
{
	const struct unit_live *live = find_live(lens->view, finding);
	const struct unit_setting *setting = unit_setting_find(finding->setting);
	bool done = false;
	int r = 0;

	finding->active = live && live->active;
	if (live && live->answered && is_visible(finding, setting)) {
		r = judge_value(finding, live, setting, &done);
		if (r >= 0 && !done && live->active && live->cgroup)
			r = look_at_kernel(lens, finding, live, setting);
	}
	if (r >= 0 && live)
		r = say_reload(finding, live);
	unit_finding_count(finding);
	return r;
}

/* --- what the manager has and no file accounts for --- */

static bool has_finding(const struct unit_findings *findings, const char *unit,
			const char *setting)
{
	for (size_t i = 0; i < findings->n; i++)
		if (streq(findings->items[i].unit, unit) &&
		    streq(findings->items[i].setting, setting))
			return true;
	return false;
}

static int add_extra(const struct lens *lens, const struct unit_live *live,
		     const struct unit_setting *setting, uint64_t value)
{
	struct unit_view *view = lens->view;
	struct unit_finding finding = {
		.unit = live->name,
		.setting = setting->name,
		.has_bytes = value != UINT64_MAX,
		.bytes = value,
		.kind = setting->kind,
		.state = UNIT_STATE_UNKNOWN,
		.active = live->active,
	};
	int r;

	if (value == UINT64_MAX)
		strv_add(&view->extra, "infinity");
	else
		strv_addf(&view->extra, "%llu", (unsigned long long)value);
	r = strv_error(&view->extra);
	if (r < 0)
		return r;
	finding.value = view->extra.items[view->extra.n - 1];
	r = say(&finding, UNIT_STATE_UNKNOWN, "%s",
		"the manager has it, and no file does any more: systemctl daemon-reload");
	if (r >= 0 && live->cgroup)
		r = look_at_kernel(lens, &finding, live, setting);
	if (r >= 0)
		r = say_reload(&finding, live);
	unit_finding_count(&finding);
	if (r >= 0)
		r = unit_findings_add(&view->findings, &finding);
	if (r < 0)
		free(finding.why);
	return r;
}

/* A unit that runs with a value which is not the default, though no file has it. */
static int look_at_unit(const struct lens *lens, const struct unit_live *live)
{
	for (size_t i = 0; i < unit_n_settings; i++) {
		const struct unit_setting *setting = &unit_settings[i];
		uint64_t value, unset = setting->kind == UNIT_PROTECTION ? 0 : UINT64_MAX;
		int r;

		if (setting->form != UNIT_VALUE_SIZE || !setting->file ||
		    !unit_live_value(live, setting, &value) || value == unset ||
		    has_finding(&lens->view->findings, live->name, setting->name))
			continue;
		r = add_extra(lens, live, setting, value);
		if (r < 0)
			return r;
	}
	return 0;
}

static int look_at_all(const struct lens *lens)
{
	struct unit_view *view = lens->view;
	size_t n = view->findings.n;
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++)
		r = look_at_finding(lens, &view->findings.items[i]);
	for (size_t i = 0; i < view->bus.n && r >= 0; i++)
		if (view->bus.units[i].active && view->bus.units[i].answered)
			r = look_at_unit(lens, &view->bus.units[i]);
	unit_findings_sort(&view->findings);
	return r;
}

/* --- the view --- */

/* Where the kernel is asked, and what the manager made of the file. */
static void ask_for(struct unit_view *view)
{
	for (size_t i = 0; i < view->bus.n; i++)
		view->bus.units[i].ask_reload = view->bus.units[i].active;
	for (size_t i = 0; i < view->findings.n; i++) {
		const struct unit_finding *finding = &view->findings.items[i];
		const struct unit_setting *setting = unit_setting_find(finding->setting);
		struct unit_live *live = find_live(view, finding);

		if (!live)
			continue;
		live->ask_reload = true;
		if (!is_visible(finding, setting))
			continue;
		live->ask_cgroup = live->active;
		live->ask_settings |= unit_live_bit(setting);
	}
}

/* What no file accounts for can only be in units whose files have changed. */
static bool ask_for_more(struct unit_view *view)
{
	bool any = false;

	for (size_t i = 0; i < view->bus.n; i++) {
		struct unit_live *live = &view->bus.units[i];

		if (!live->need_reload || !live->active)
			continue;
		any = live->ask_cgroup = true;
		for (size_t k = 0; k < unit_n_settings; k++)
			if (unit_settings[k].form == UNIT_VALUE_SIZE && unit_settings[k].file)
				live->ask_settings |= unit_live_bit(&unit_settings[k]);
	}
	return any;
}

/* The manager failed us: the files are what is left. */
static int fall_back(struct unit_view *view, int error)
{
	if (error == -ENOMEM)
		return error;
	view->by_files = true;
	return str_printf(&view->by_files_why, "the manager %s",
			  error == -ETIMEDOUT ? "does not answer" : "cannot be asked");
}

int unit_view_load(const struct root *root, const struct unit_owner *owner,
		   const struct unit_basis *basis, const struct running *running,
		   struct systemd *systemd, struct unit_view *ret, struct diag *diag)
{
	_cleanup_unit_view_ struct unit_view view = { .by_files = !systemd };
	_cleanup_strv_ struct strv loaded = {};
	struct lens lens = { root, running, &view };
	int r = 0;

	if (systemd) {
		r = unit_bus_list(systemd, &view.bus);
		if (r < 0)
			r = fall_back(&view, r);
		for (size_t i = 0; i < view.bus.n; i++)
			strv_add(&loaded, view.bus.units[i].name);
		if (strv_error(&loaded) < 0)
			return -ENOMEM;
	}
	if (r >= 0)
		r = units_load(root, owner, &loaded, &view.units, diag);
	if (r >= 0)
		r = units_judge(&view.units, basis, &view.findings);
	if (r >= 0 && !view.by_files) {
		ask_for(&view);
		r = unit_bus_ask(systemd, &view.bus);
		if (r >= 0 && ask_for_more(&view))
			r = unit_bus_ask(systemd, &view.bus);
		if (r < 0)
			r = fall_back(&view, r);
		/* also what was answered before it failed */
		if (r >= 0)
			r = look_at_all(&lens);
	}
	if (r < 0)
		return r;
	*ret = view;
	view = (struct unit_view){};
	return 0;
}

void unit_view_done(struct unit_view *view)
{
	unit_findings_done(&view->findings);
	units_done(&view->units);
	unit_bus_done(&view->bus);
	strv_done(&view->extra);
	free(view->by_files_why);
	*view = (struct unit_view){};
}

int unit_view_host(const struct root *root, const struct unit_view *view,
		   const struct unit_basis *basis, struct strv *ret)
{
	const struct unit *oomd = units_find(&view->units, "systemd-oomd.service");
	bool off = basis->memcg == MEMCG_OFF || basis->memcg == MEMCG_UNAVAILABLE;

	if (off)
		strv_add(ret, "systemd does not notice when the kernel kills a process of a "
			      "service for want of memory: OOMPolicy= has no effect");
	if (off && oomd && oomd->enabled == UNIT_ENABLED)
		strv_add(ret, "systemd-oomd is enabled and not started: it needs the memory "
			      "controller");
	if (!off && !units_find(&view->units, "user@.service") &&
	    root_exists(root, "/usr/lib/systemd/system/user@.service"))
		strv_add(ret, "user@.service does not delegate the memory controller: limits "
			      "of users' units have no effect");
	return strv_error(ret);
}
