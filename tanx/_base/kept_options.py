"""Options that JAX programs set, for parts that tanx does not have: checked and stored."""

from __future__ import annotations

from typing import Any

from .option_kinds import Kind, anything, boolean, choice, integer, text

__all__ = ["KEPT"]

_LEVELS = choice("UNKNOWN", "O0", "O1", "O2", "O3")
_IGNORE_OR_RAISE = choice("ignore", "raise")
KEPT: dict[str, tuple[Kind, Any]] = {
    **dict.fromkeys((
        "auto_pcast", "check_proxy_envs", "compiler_enable_remat_pass",
        "enable_preemption_service", "include_debug_info_in_dumps",
        "include_full_tracebacks_in_locations", "jax2tf_default_native_serialization",
        "mosaic_unzip_debug_locations", "mutable_array_checks",
        "ragged_dot_use_ragged_dot_instruction", "raise_on_ppermute_sort_diff",
        "sort_devices_by_process_index", "use_direct_linearize", "use_rgv3",
        "use_shardy_partitioner",
    ), (boolean, True)),
    **dict.fromkeys((
        "bcoo_cusparse_lowering", "check_vma", "compilation_cache_check_contents",
        "compilation_cache_expect_pgle", "compilation_cache_include_metadata_in_key",
        "custom_jvp3", "custom_vjp3", "debug_leaked_clients_on_clear_backends",
        "disable_most_optimizations", "disable_vmap_shmap_error",
        "disallow_mesh_context_manager", "distributed_debug",
        "distributed_verify_secure_credentials", "eager_constant_folding", "enable_pgle",
        "enable_recoverability", "experimental_unsafe_xla_runtime_errors",
        "export_deserialize_expired_versions", "export_ignore_forward_compatibility",
        "force_dcn_cross_host_transfers", "jax2tf_associative_scan_reductions",
        "log_checkpoint_residuals", "mosaic_allow_hlo", "pallas_enable_debug_checks",
        "pallas_poison_buffers", "pallas_verbose_errors", "remat3", "remat_barrier_no_cotangents",
        "remove_custom_partitioning_ptr_from_cache_key", "remove_size_one_mesh_axis_from_type",
        "scan3", "share_binary_between_hosts", "threefry_gpu_kernel_lowering",
        "use_cpp_shard_args", "use_emit_pipeline_primitive", "use_simplified_jaxpr_constants",
    ), (boolean, False)),
    **dict.fromkeys(("backend_target", "cross_host_transfer_socket_address",
                     "cross_host_transport_addresses", "debug_log_modules", "dump_ir_to",
                     "mock_gpu_topology", "xla_backend"), (text, "")),
    **dict.fromkeys(("hlo_source_file_canonicalization_regex", "mtls_ca_file", "mtls_cert_file",
                     "mtls_key_file", "mtls_peer_uri_prefix", "source_url_schema"),
                    (text.or_none(), None)),
    **dict.fromkeys(("cuda_visible_devices", "oneapi_visible_devices", "rocm_visible_devices"),
                    (text, "all")),
    **dict.fromkeys(("error_checking_behavior_divide", "error_checking_behavior_nan",
                     "error_checking_behavior_oob"), (_IGNORE_OR_RAISE, "ignore")),
    "captured_constants_report_frames": (integer, 0),
    "compiler_detailed_logging_min_ops": (integer, 10),
    "cpu_collectives_implementation": (choice("gloo", "mpi", "megascale").or_none(), "gloo"),
    "cpu_get_global_topology_timeout_minutes": (integer, 5),
    "cpu_get_local_topology_timeout_minutes": (integer, 2),
    "cross_host_transfer_timeout_seconds": (integer.or_none(), None),
    "cross_host_transfer_transfer_size": (integer.or_none(), None),
    "dump_ir_modes": (text, "stablehlo"),
    "embedded_constants_max_bytes": (integer, 32),
    "export_calling_convention_version": (integer, 10),
    "memory_fitting_level": (_LEVELS, "O2"),
    "mock_num_gpu_processes": (integer, 0),
    "pallas_auto_assign_collective_ids": (choice("no", "yes", "override"), "no"),
    "pallas_auto_assign_collective_ids_limit": (integer, 25),
    "persistent_cache_enable_xla_caches": (text.or_none(), "xla_gpu_per_fusion_autotune_cache_dir"),
    "pgle_aggregation_percentile": (integer, 90),
    "pgle_profiling_runs": (integer, 3),
    "pjrt_client_create_options": (anything.or_none(), None),
    "send_traceback_to_runtime": (choice("off", "on", "full"), "off"),
    "serialization_version": (integer, 0),
    "share_binary_between_hosts_timeout_ms": (integer, 1_200_000),
    "traceback_in_locations_limit": (integer, 100),
    "tracer_error_num_traceback_frames": (integer, 5),
    "use_hlo_logistic_lowering": (boolean.or_none(), None),
    "use_magma": (choice("off", "on", "auto"), "auto"),
    "xla_profile_version": (integer, 0),
}
"""The kind of each option, and its default."""
