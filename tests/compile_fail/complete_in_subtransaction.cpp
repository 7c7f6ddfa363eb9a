// expect: dogged: complete_in takes a pqxx::work
#include <dogged/transaction.hpp>

void complete(dogged::Context& context, pqxx::subtransaction& transaction) { context.complete_in(transaction); }
