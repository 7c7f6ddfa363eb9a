// The worker of the import.
#include <dogged/code_sets.hpp>
#include <dogged/worker.hpp>

#include "import.hpp"

// A lost connection of the handler is worth another attempt, which goes on at the checkpoint.
TASK_REGISTER(import_file, import_people,
              .auto_retry_for = dogged::codes::sqlstate_transient + dogged::ErrorCodes{"FILE_MISSING"});

int main(int argc, char** argv) { return dogged::worker_main(argc, argv); }
