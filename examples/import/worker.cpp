// The worker of the import.
#include <dogged/worker.hpp>

#include "import.hpp"

TASK_REGISTER(import_file, import_people, .auto_retry_for = {"FILE_MISSING"});

int main(int argc, char** argv) { return dogged::worker_main(argc, argv); }
