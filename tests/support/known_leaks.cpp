// What LeakSanitizer shall not report: libpqxx 6 loses the result of a statement whose connection broke, about 2 KB
// each.
extern "C" const char* __lsan_default_suppressions();

extern "C" const char* __lsan_default_suppressions() { return "leak:libpqxx-6\n"; }
