/* Forgets a handle, for the test of the leak checker. */
#include <rocksdb/c.h>

int main(void) {
  rocksdb_options_t* volatile options = rocksdb_options_create();
  options = 0;
  return options != 0;
}
