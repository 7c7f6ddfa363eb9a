// What the files here include, compiled once before them.
#include <dogged/client.hpp>
#include <dogged/transaction.hpp>
#include <dogged/worker.hpp>
