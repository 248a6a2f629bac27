/* For programs that say #include <rocksdb/c.h>: compile them with -I on the directory above this one. */
#include "../ferrock/c.h"
