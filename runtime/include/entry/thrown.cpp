// Where exceptions come from: return addresses, innermost first. The linker puts __wrap___cxa_throw in the place of the function that a throw calls. The last throws
// are noted, because the one that leaves user code need not be the very last: destructors that it runs may throw and catch, and a kept one may be thrown again.
extern "C" __attribute__((visibility("default"))) void* pto_thrown[16] = {};
extern "C" __attribute__((weak)) int pto_backtrace(void**, int) __asm__("backtrace");
extern "C" [[noreturn]] void __real___cxa_throw(void*, void*, void (*)(void*));
static struct { void *exception, *from[16]; } pto_throws[16];
static unsigned pto_next_throw = 0;
extern "C" [[noreturn]] void __wrap___cxa_throw(void* exception, void* type, void (*destroy)(void*)) {
    auto& t = pto_throws[pto_next_throw++ % 16];
    t = {exception, {}};
    if (pto_backtrace) pto_backtrace(t.from, 16);
    __real___cxa_throw(exception, type, destroy);
}
// Puts into pto_thrown where the exception comes from that a handler has.
static void pto_caught() {
    const std::exception_ptr caught = std::current_exception();
    void* exception = nullptr;
    __builtin_memcpy(&exception, &caught, sizeof exception);
    __builtin_memset(pto_thrown, 0, sizeof pto_thrown);
    for (unsigned i = 1; exception && i <= 16; ++i) {
        const auto& t = pto_throws[(pto_next_throw - i) % 16];
        if (t.exception != exception) continue;
        __builtin_memcpy(pto_thrown, t.from, sizeof pto_thrown);
        return;
    }
}
