/* SPDX-License-Identifier: MIT-0 */

/* Samples of 0.1 s of an anonymous page-fault loop on Linux 6.18, by the timer that a machine
 * without a performance monitoring unit has, and the lines of its /proc/kallsyms around them.
 */
static const struct {
	unsigned short misc;
	unsigned long long address;
} recorded[] = {
	{ 1, 0xffffffff81bde627 }, { 1, 0xffffffff82255ff7 }, { 1, 0xffffffff816058e6 },
	{ 1, 0xffffffff822601e7 }, { 1, 0xffffffff8226e639 }, { 1, 0xffffffff81658ca6 },
	{ 1, 0xffffffff822601e7 }, { 1, 0xffffffff82255ff7 }, { 2, 0x401000 },
	{ 2, 0x401000 },	   { 1, 0xffffffff822601e7 }, { 1, 0xffffffff8226e639 },
	{ 2, 0x401000 },	   { 1, 0xffffffff822601e7 }, { 1, 0xffffffff81604a94 },
	{ 1, 0xffffffff81634451 }, { 1, 0xffffffff822601e7 }, { 1, 0xffffffff81bde5fa },
	{ 1, 0xffffffff82255ff7 }, { 1, 0xffffffff816a4352 }, { 1, 0xffffffff82255ff7 },
	{ 1, 0xffffffff82255ff7 }, { 1, 0xffffffff82255ff7 }, { 1, 0xffffffff82255ff7 },
	{ 1, 0xffffffff816ac855 }, { 1, 0xffffffff82255ffa }, { 2, 0x401000 },
	{ 1, 0xffffffff8226e639 }, { 1, 0xffffffff816395a7 }, { 2, 0x401000 },
	{ 1, 0xffffffff822601e7 }, { 1, 0xffffffff815b8c09 }, { 1, 0xffffffff816167c1 },
	{ 1, 0xffffffff82255ff7 }, { 1, 0xffffffff81618f8d }, { 1, 0xffffffff81463308 },
	{ 1, 0xffffffff822601e7 }, { 2, 0x401000 },	      { 1, 0xffffffff82255ff7 },
	{ 2, 0x401000 },	   { 2, 0x401000 },	      { 1, 0xffffffff8226e639 },
	{ 1, 0xffffffff815fa26d }, { 1, 0xffffffff82255ffa }, { 1, 0xffffffff816adacc },
	{ 1, 0xffffffff816169df }, { 1, 0xffffffff82255ff7 }, { 1, 0xffffffff8226e639 },
	{ 1, 0xffffffff816a43c5 }, { 1, 0xffffffff82255ff7 }, { 1, 0xffffffff815fba5f },
	{ 1, 0xffffffff815f6400 }, { 1, 0xffffffff8223b4bd }, { 1, 0xffffffff81616978 },
	{ 1, 0xffffffff81636872 }, { 1, 0xffffffff81619688 }, { 1, 0xffffffff815f8b55 },
	{ 1, 0xffffffff81602cc2 }, { 1, 0xffffffff822601e7 }, { 1, 0xffffffff82255ff7 },
	{ 2, 0x401000 },	   { 1, 0xffffffff81604865 }, { 1, 0xffffffff81bde5e7 },
	{ 1, 0xffffffff822601e7 }, { 1, 0xffffffff8161673f }, { 1, 0xffffffff822601e7 },
	{ 1, 0xffffffff816a842a }, { 1, 0xffffffff822601e7 }, { 2, 0x401000 },
	{ 1, 0xffffffff8226e639 }, { 1, 0xffffffff81616996 }, { 1, 0xffffffff8140dd8e },
	{ 1, 0xffffffff81463312 }, { 1, 0xffffffff8226e639 }, { 1, 0xffffffff81463319 },
	{ 1, 0xffffffff8226e639 }, { 1, 0xffffffff81463333 }, { 1, 0xffffffff81bde627 },
	{ 1, 0xffffffff82255ff7 }, { 1, 0xffffffff82255ff7 }, { 1, 0xffffffff81630945 },
	{ 2, 0x401000 },	   { 1, 0xffffffff822601e7 }, { 1, 0xffffffff81c80c44 },
	{ 1, 0xffffffff81676c46 }, { 1, 0xffffffff81616a44 }, { 1, 0xffffffff816169ed },
	{ 1, 0xffffffff81636af3 }, { 2, 0x401000 },	      { 1, 0xffffffff81415670 },
	{ 1, 0xffffffff815b8c09 }, { 2, 0x401000 },	      { 1, 0xffffffff82255ff7 },
	{ 2, 0x401000 },	   { 1, 0xffffffff816a1aa0 }, { 2, 0x401000 },
	{ 1, 0xffffffff81602892 }, { 1, 0xffffffff8226e639 }, { 1, 0xffffffff822601e7 },
	{ 1, 0xffffffff8226e639 }, { 1, 0xffffffff81635b04 }, { 1, 0xffffffff822601e7 },
	{ 1, 0xffffffff82255ff7 }, { 1, 0xffffffff816abf30 }, { 1, 0xffffffff822601e7 },
	{ 1, 0xffffffff815fa194 }, { 1, 0xffffffff82255ff7 }, { 1, 0xffffffff8226e639 },
	{ 1, 0xffffffff816a82fc }, { 1, 0xffffffff8226eebc }, { 1, 0xffffffff815fa335 },
	{ 1, 0xffffffff81604865 }, { 1, 0xffffffff81637e54 },
};

static const char recorded_symbols[] =
	"ffffffff8140dd70 T __rcu_read_lock\n"
	"ffffffff8140dda0 t __pfx_rcu_preempt_deferred_qs_handler\n"
	"ffffffff81415650 T __rcu_read_unlock\n"
	"ffffffff81415680 t __pfx_strict_work_handler\n"
	"ffffffff81463300 T __css_rstat_updated\n"
	"ffffffff814633b0 T __pfx_css_rstat_updated\n"
	"ffffffff815b8c00 T folio_add_lru_vma\n"
	"ffffffff815b8c40 T __pfx_lru_add_drain_cpu\n"
	"ffffffff815f63f0 t mksaveddirty_shift\n"
	"ffffffff815f6420 t __pfx_pgd_none\n"
	"ffffffff815f8b50 T free_pgd_range\n"
	"ffffffff815f9260 T __pfx_free_pgtables\n"
	"ffffffff815f9d50 T unmap_page_range\n"
	"ffffffff815fb200 t __pfx_unmap_single_vma.isra.0\n"
	"ffffffff815fba50 T __vmf_anon_prepare\n"
	"ffffffff815fbb50 t __pfx_do_wp_page\n"
	"ffffffff81602820 t do_anonymous_page\n"
	"ffffffff816032c0 T __pfx_do_swap_page\n"
	"ffffffff81604780 t __handle_mm_fault\n"
	"ffffffff81605700 T __pfx_handle_mm_fault\n"
	"ffffffff81605710 T handle_mm_fault\n"
	"ffffffff81605a20 T __pfx_copy_user_large_folio\n"
	"ffffffff81616730 T ___pte_offset_map\n"
	"ffffffff81616830 T __pfx_pte_offset_map_ro_nolock\n"
	"ffffffff81616910 T pte_offset_map_rw_nolock\n"
	"ffffffff816169a0 T __pfx___pte_offset_map_lock\n"
	"ffffffff816169b0 T __pte_offset_map_lock\n"
	"ffffffff81616ac0 T __pfx___traceiter_mm_migrate_pages\n"
	"ffffffff81618f50 T folio_add_new_anon_rmap\n"
	"ffffffff81619100 T __pfx_folio_add_file_rmap_ptes\n"
	"ffffffff81619670 T folio_remove_rmap_ptes\n"
	"ffffffff816198a0 t __pfx_try_to_unmap_one\n"
	"ffffffff816308b0 t free_frozen_page_commit\n"
	"ffffffff81630c80 t __pfx___free_frozen_pages\n"
	"ffffffff81634430 t __rmqueue_pcplist\n"
	"ffffffff81634f10 T __pfx_alloc_folio_from_piece\n"
	"ffffffff816358a0 T free_unref_folios\n"
	"ffffffff81636240 T __pfx___isolate_free_page\n"
	"ffffffff81636800 t get_page_from_freelist\n"
	"ffffffff816380c0 t __pfx___alloc_pages_direct_compact\n"
	"ffffffff81639490 T __alloc_frozen_pages_noprof\n"
	"ffffffff816397d0 T __pfx___alloc_pages_noprof\n"
	"ffffffff81658bb0 T free_pages_and_swap_cache\n"
	"ffffffff81658db0 T __pfx_swap_update_readahead\n"
	"ffffffff81676ba0 T vma_alloc_folio_noprof\n"
	"ffffffff81676c80 T __pfx_vma_policy_mof\n"
	"ffffffff816a1a70 T page_counter_uncharge\n"
	"ffffffff816a1b00 T __pfx_page_counter_set_max\n"
	"ffffffff816a4340 T memcg1_commit_charge\n"
	"ffffffff816a43e0 T __pfx_memcg1_swapout\n"
	"ffffffff816a81e0 t mod_memcg_lruvec_state\n"
	"ffffffff816a83e0 T __pfx_get_mem_cgroup_from_mm\n"
	"ffffffff816a83f0 T get_mem_cgroup_from_mm\n"
	"ffffffff816a8520 T __pfx___lruvec_stat_mod_folio\n"
	"ffffffff816abe80 t try_charge_memcg\n"
	"ffffffff816ac580 t __pfx_obj_cgroup_charge_pages\n"
	"ffffffff816ac830 t charge_memcg\n"
	"ffffffff816ac8c0 T __pfx_mem_cgroup_from_slab_obj\n"
	"ffffffff816ada80 T __mem_cgroup_charge\n"
	"ffffffff816adb10 T __pfx_mem_cgroup_charge_hugetlb\n"
	"ffffffff81bde5e0 T __list_del_entry_valid_or_report\n"
	"ffffffff81bde700 T __pfx_xxh32\n"
	"ffffffff81c80c20 T percpu_counter_add_batch\n"
	"ffffffff81c80ce0 T __pfx_percpu_counter_destroy_many\n"
	"ffffffff8223b090 T mas_preallocate\n"
	"ffffffff8223b510 T __pfx_mas_empty_area_rev\n"
	"ffffffff82255ff0 T clear_page_rep\n"
	"ffffffff82256000 T __pfx_clear_page_orig\n"
	"ffffffff82260110 T exc_page_fault\n"
	"ffffffff82260880 T __pfx_get_cpu_entry_area\n"
	"ffffffff8226e620 T _raw_spin_unlock_irqrestore\n"
	"ffffffff8226e660 T __pfx__raw_read_trylock\n"
	"ffffffff8226eeb0 T __raw_callee_save___pv_queued_spin_unlock\n"
	"ffffffff8226eec4 t .slowpath\n";
