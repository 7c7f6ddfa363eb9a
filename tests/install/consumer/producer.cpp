// shop_producer DATABASE_URL: enqueues one task of each kind, and a second charge that no retry can help. The charges
// are enqueued in a transaction of the program's own, which makes the table that their handler writes to.
#include <exception>
#include <iostream>

#include <dogged/client.hpp>
#include <dogged/transaction.hpp>

#include "tasks.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: shop_producer DATABASE_URL\n";
    return 2;
  }
  try {
    dogged::Client client{argv[1]};
    client.enqueue(shop::greet_customer, {.name = "producer"});
    pqxx::connection connection{argv[1]};
    pqxx::work transaction{connection};
    transaction.exec("create table charges (card text, cents integer)");
    dogged::enqueue_many_in(transaction, shop::charge_card, {{"busy", 995}, {"stolen", 1}});
    transaction.commit();
    client.enqueue(shop::send_report, {.copies = 2}, {.queue = "default", .priority = 10});
  } catch (const std::exception& error) {
    std::cerr << "shop_producer: " << error.what() << '\n';
    return 1;
  }
}
