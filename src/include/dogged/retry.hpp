// The retry toolkit, usable without a database: this header includes all of it. The queue's own retries use the same
// code. docs/retry.md is the guide.
//
//   <dogged/policy.hpp>           how long to wait before retry 1, 2, …
#pragma once

#include <dogged/policy.hpp>
