// What the tool puts behind every orchestration: the functions that it calls. Coming last, they see which form of entry function the source defines; ENTRY stands
// for its name. This is text after the preprocessor: it has no macros. An exception that leaves user code becomes a report.

namespace pto {

// The arguments in both forms: as an object, and as one array with the addresses of all tensors and then the scalars.
struct Entry {
    ::ChipStorageTaskArgs args;
    std::vector<uint64_t> raw;

    Entry(const ::Tensor* t, uint32_t nt, const uint64_t* s, uint32_t ns) : args(t, nt, s, ns) {
        for (uint32_t i = 0; i < nt; ++i) raw.push_back(t[i].buffer.addr);
        raw.insert(raw.end(), s, s + ns);
    }
};

// Calls f in the form that it has: with the arguments, older ones with the number and index of the orchestration thread, or with the array and its length; the
// oldest get the runtime first.
template <bool Needed, class F> auto enter(F f, Entry& e) {
    using Args = ::ChipStorageTaskArgs&;
    using Array = uint64_t*;
    const int n = static_cast<int>(e.raw.size());
    if constexpr (std::is_invocable_v<F, Args>) return f(e.args);
    else if constexpr (std::is_invocable_v<F, Args, int, int>) return f(e.args, 1, 0);
    else if constexpr (std::is_invocable_v<F, Array, int>) return f(e.raw.data(), n);
    else if constexpr (std::is_invocable_v<F, Array, int, int, int>) return f(e.raw.data(), n, 1, 0);
    else if constexpr (std::is_invocable_v<F, Channel*, Args>) return f(&channel(), e.args);
    else if constexpr (std::is_invocable_v<F, Channel*, Array, int>) return f(&channel(), e.raw.data(), n);
    else {
        static_assert(!Needed, "the orchestration defines no ENTRY that takes const ChipStorageTaskArgs& (or the older uint64_t* args, int arg_count)");
        return PTO2OrchestrationConfig{};
    }
}

template <class F> void guarded(F call) {
    channel().progress->stack = static_cast<int64_t>(reinterpret_cast<uintptr_t>(&call));
    constexpr const char* hint = "catch it, or use rt_report_fatal to give up with a message";
    try {
        call();
    } catch (const std::exception& e) {
        pto_caught();
        tell(Op::MISUSE, NO_CALL, EXCEPTION, text("an exception left the orchestration: %s", e.what()).c_str(), hint, nullptr, 0);
    } catch (...) {
        pto_caught();
        tell(Op::MISUSE, NO_CALL, EXCEPTION, "an exception left the orchestration", hint, nullptr, 0);
    }
    flush();
    fflush(stdout);
}

}  // namespace pto

extern "C" __attribute__((visibility("default"))) int32_t pto_expected_args(const Tensor* t, uint32_t nt, const uint64_t* s, uint32_t ns) {
    int32_t n = 0;
    pto::guarded([&] {
        pto::Entry e(t, nt, s, ns);
        n = pto::enter<false>([](auto&&... a) -> decltype(aicpu_orchestration_config(std::forward<decltype(a)>(a)...)) { return aicpu_orchestration_config(std::forward<decltype(a)>(a)...); }, e).expected_arg_count;
    });
    return n;
}

extern "C" __attribute__((visibility("default"))) void pto_run(const Tensor* t, uint32_t nt, const uint64_t* s, uint32_t ns) {
    pto::guarded([&] {
        pto::Entry e(t, nt, s, ns);
        pto::enter<true>([](auto&&... a) -> decltype(ENTRY(std::forward<decltype(a)>(a)...)) { return ENTRY(std::forward<decltype(a)>(a)...); }, e);
    });
}

// The name of the entry function.
extern "C" __attribute__((visibility("default"))) const char pto_entry[] = "ENTRY";
