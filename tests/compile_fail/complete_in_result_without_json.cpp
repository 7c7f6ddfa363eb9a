// expect: dogged: the result must convert to nlohmann::json
#include <dogged/transaction.hpp>

struct Receipt {
  int status;
};

void complete(dogged::Context& context, pqxx::work& transaction) { context.complete_in(transaction, Receipt{200}); }
