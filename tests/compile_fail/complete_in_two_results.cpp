// expect: dogged: complete_in takes one result
#include <dogged/transaction.hpp>

void complete(dogged::Context& context, pqxx::work& transaction) { context.complete_in(transaction, 1, 2); }
