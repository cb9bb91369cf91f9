// What the tool puts behind a kernel. The compiler must not see which function it calls: it would drop the call of one that can only crash. An exception that
// leaves the kernel becomes text.

extern "C" void kernel_entry(long*);
extern "C" __attribute__((visibility("default"))) int pto_kernel(long* args, char* text, unsigned long size) {
    void (*volatile entry)(long*) = kernel_entry;
    try {
        entry(args);
        return 0;
    } catch (const std::exception& e) {
        pto_caught();
        __builtin_strncpy(text, e.what(), size - 1);
        return 1;
    } catch (...) {
        pto_caught();
        return 2;
    }
}
