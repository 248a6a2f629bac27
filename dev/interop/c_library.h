// What the programs here share: a library with RocksDB's C interface, found at run time; the clock; latencies.
#ifndef FERROCK_INTEROP_C_LIBRARY_H
#define FERROCK_INTEROP_C_LIBRARY_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void* library;

static void fail(const char* text) {
  fprintf(stderr, "%s\n", text);
  exit(2);
}

static inline void load_library(const char* path) {
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) fail(dlerror());
}

// The function rocksdb_NAME.
static inline void* function(const char* name) {
  char full[128];
  snprintf(full, sizeof full, "rocksdb_%s", name);
  void* found = dlsym(library, full);
  if (!found) fail(full);
  return found;
}

// Declares a local function pointer with the name of the function, less its prefix.
#define USES(result, name, ...) result (*name)(__VA_ARGS__) = (result (*)(__VA_ARGS__))function(#name)

static inline uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline double seconds(void) { return (double)now_ns() * 1e-9; }

// The finalizer of splitmix64.
static inline uint64_t mixed(uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9ull;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebull;
  return number ^ (number >> 31);
}

static inline uint64_t splitmix(uint64_t* state) { return mixed(*state += 0x9e3779b97f4a7c15ull); }

// Latencies in nanoseconds, in sixteen buckets for each doubling.
enum { LATENCY_BUCKETS = 64 * 16 };

typedef struct {
  uint64_t counts[LATENCY_BUCKETS], total, longest_ns;
} Latencies;

static inline void record(Latencies* latencies, uint64_t ns) {
  int power = 63 - __builtin_clzll(ns | 1);
  latencies->counts[ns < 16 ? ns : (uint64_t)((power - 3) * 16 + (int)((ns >> (power - 4)) & 15))]++;
  latencies->total++;
  if (ns > latencies->longest_ns) latencies->longest_ns = ns;
}

static inline void add_latencies(Latencies* sum, const Latencies* other) {
  for (int index = 0; index < LATENCY_BUCKETS; index++) sum->counts[index] += other->counts[index];
  sum->total += other->total;
  if (other->longest_ns > sum->longest_ns) sum->longest_ns = other->longest_ns;
}

// The begin of the bucket that has the percentile of this share, in microseconds.
static inline double percentile_us(const Latencies* latencies, double share) {
  uint64_t wanted = (uint64_t)((double)latencies->total * share), seen = 0;
  for (int index = 0; index < LATENCY_BUCKETS; index++) {
    seen += latencies->counts[index];
    if (seen > wanted) return (index < 16 ? index : (double)((16ull + index % 16) << (index / 16 - 1))) * 1e-3;
  }
  return (double)latencies->longest_ns * 1e-3;
}

#endif
