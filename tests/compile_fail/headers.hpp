// The headers that the files here include. Each file is compiled within a namespace, so a header that is not named here
// would declare its contents there.
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <dogged/client.hpp>
#include <dogged/code_sets.hpp>
#include <dogged/codes.hpp>
#include <dogged/detail/mutex.hpp>
#include <dogged/schedule.hpp>
#include <dogged/task.hpp>
#include <dogged/transaction.hpp>
#include <dogged/worker.hpp>
