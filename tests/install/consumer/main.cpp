// The shop's worker. The tasks are declared in the files of their handlers.
#include <dogged/worker.hpp>

int main(int argc, char** argv) { return dogged::worker_main(argc, argv); }
