"""Rules for PyPTO orchestration programs.

    load("@rules_ptobuild//:defs.bzl", "pto_library", "pto_orchestration", "pto_sim_test")

    pto_library(
        name = "shapes",
        srcs = ["shapes.py"],
    )

    pto_orchestration(
        name = "softmax",
        src = "softmax.py",
        functions = ["softmax_rows"],
        deps = [":shapes"],
    )

    pto_sim_test(
        name = "softmax_test",
        inputs = {"x": "{ random = 1, low = -4.0, high = 4.0 }"},
        deps = [":softmax"],
    )

`ptobuild bazel` writes and updates such BUILD files from the sources and Pto.toml.

The rules work with Bazel 4.2 and later. The ptobuild that they run comes from a toolchain: see toolchain.bzl.
"""

load("//private:library.bzl", _pto_library = "pto_library")
load("//private:orchestration.bzl", _pto_orchestration = "pto_orchestration")
load("//private:plugin.bzl", _pto_plugin = "pto_plugin")
load("//private:providers.bzl", _PtoInfo = "PtoInfo", _PtoOrchestrationInfo = "PtoOrchestrationInfo", _PtoPluginInfo = "PtoPluginInfo")
load("//private:sim_test.bzl", _pto_sim_test = "pto_sim_test")

PtoInfo = _PtoInfo
PtoOrchestrationInfo = _PtoOrchestrationInfo
PtoPluginInfo = _PtoPluginInfo
pto_library = _pto_library
pto_orchestration = _pto_orchestration
pto_plugin = _pto_plugin
pto_sim_test = _pto_sim_test
