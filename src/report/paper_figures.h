// What the paper prints: F1 in per cent, seconds and MiB on one GTX 1080 Ti. Negative: a dash in the paper.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "config/methods.h"

namespace l2gcn::paper {

struct SotaRow {
  const char* set;
  const char* method;
  double f1, seconds, mebibytes;
};
inline constexpr SotaRow kSota[] = {
    {"cora", method_names::kGraphSage, 85.0, 18, 655},
    {"cora", method_names::kFastGcn, 85.5, 6.02, 659},
    {"cora", method_names::kVrGcn, 85.4, 5.47, 253},
    {"cora", method_names::kLgcn, 84.7, 0.45, 619},
    {"cora", method_names::kL2gcn, 84.1, 0.38, 619},
    {"pubmed", method_names::kGraphSage, 86.5, 483, 675},
    {"pubmed", method_names::kFastGcn, 87.4, 32, 851},
    {"pubmed", method_names::kVrGcn, 86.4, 118, 375},
    {"pubmed", method_names::kLgcn, 86.8, 2.93, 619},
    {"pubmed", method_names::kL2gcn, 85.8, 1.50, 631},
    {"ppi", method_names::kGraphSage, 68.8, 402, 849},
    {"ppi", method_names::kFastGcn, -1, -1, -1},
    {"ppi", method_names::kVrGcn, 98.6, 63, 759},
    {"ppi", method_names::kLgcn, 97.2, 49, 629},
    {"ppi", method_names::kL2gcn, 96.8, 26, 631},
    {"reddit", method_names::kGraphSage, 93.4, 998, 4343},
    {"reddit", method_names::kFastGcn, 92.6, 761, 4429},
    {"reddit", method_names::kVrGcn, 96.0, 201, 1271},
    {"reddit", method_names::kLgcn, 94.2, 44, 621},
    {"reddit", method_names::kL2gcn, 94.0, 34, 635},
    {"amazon670k", method_names::kGraphSage, 83.1, 2153, 849},
    {"amazon670k", method_names::kFastGcn, 76.1, 548, 1621},
    {"amazon670k", method_names::kVrGcn, 92.7, 534, 625},
    {"amazon670k", method_names::kLgcn, 91.6, 54, 601},
    {"amazon670k", method_names::kL2gcn, 91.2, 30, 613},
    {"amazon3m", method_names::kGraphSage, -1, -1, -1},
    {"amazon3m", method_names::kFastGcn, -1, -1, -1},
    {"amazon3m", method_names::kVrGcn, 88.3, 2165, 625},
    {"amazon3m", method_names::kLgcn, 88.4, 203, 601},
    {"amazon3m", method_names::kL2gcn, 88.4, 125, 613},
};

struct EpochsRow {
  const char* set;
  const char* method;
  uint32_t layers;
  const char* epochs;  // how many each layer gets
  double f1;
};
inline constexpr EpochsRow kEpochs[] = {
    {"cora", method_names::kLgcn, 2, "60", 83.2},        {"cora", method_names::kLgcn, 2, "80", 84.7},
    {"cora", method_names::kLgcn, 2, "100", 83.0},       {"cora", method_names::kL2gcn, 2, "", 84.1},
    {"pubmed", method_names::kLgcn, 2, "100", 86.8},     {"pubmed", method_names::kLgcn, 2, "120", 86.3},
    {"pubmed", method_names::kLgcn, 2, "140", 86.4},     {"pubmed", method_names::kL2gcn, 2, "", 85.8},
    {"ppi", method_names::kLgcn, 2, "400", 93.7},        {"ppi", method_names::kLgcn, 2, "500", 94.1},
    {"ppi", method_names::kLgcn, 2, "600", 94.9},        {"ppi", method_names::kL2gcn, 2, "", 94.1},
    {"reddit", method_names::kLgcn, 2, "60", 93.0},      {"reddit", method_names::kLgcn, 2, "80", 93.5},
    {"reddit", method_names::kLgcn, 2, "100", 93.8},     {"reddit", method_names::kL2gcn, 2, "", 92.2},
    {"amazon670k", method_names::kLgcn, 2, "60", 91.4},  {"amazon670k", method_names::kLgcn, 2, "80", 91.6},
    {"amazon670k", method_names::kLgcn, 2, "100", 91.7}, {"amazon670k", method_names::kL2gcn, 2, "", 91.2},
    {"amazon3m", method_names::kLgcn, 2, "60", 88.2},    {"amazon3m", method_names::kLgcn, 2, "80", 88.4},
    {"amazon3m", method_names::kLgcn, 2, "100", 88.3},   {"amazon3m", method_names::kL2gcn, 2, "", 88.0},
};

inline constexpr EpochsRow kDepth[] = {
    {"ppi", method_names::kLgcn, 2, "400", 93.7},     {"ppi", method_names::kL2gcn, 2, "", 94.1},
    {"ppi", method_names::kLgcn, 3, "400", 97.2},     {"ppi", method_names::kL2gcn, 3, "", 96.8},
    {"ppi", method_names::kLgcn, 4, "400", 97.7},     {"ppi", method_names::kL2gcn, 4, "", 97.3},
    {"reddit", method_names::kLgcn, 2, "100", 93.8},  {"reddit", method_names::kL2gcn, 2, "", 92.2},
    {"reddit", method_names::kLgcn, 3, "100", 94.2},  {"reddit", method_names::kL2gcn, 3, "", 94.0},
    {"reddit", method_names::kLgcn, 4, "100", 94.5},  {"reddit", method_names::kL2gcn, 4, "", 94.3},
    {"amazon3m", method_names::kLgcn, 2, "80", 88.4}, {"amazon3m", method_names::kL2gcn, 2, "", 88.0},
    {"amazon3m", method_names::kLgcn, 3, "80", 89.0}, {"amazon3m", method_names::kL2gcn, 3, "", 88.7},
    {"amazon3m", method_names::kLgcn, 4, "80", 89.2}, {"amazon3m", method_names::kL2gcn, 4, "", 89.0},
};

inline constexpr SotaRow kNgcnTable[] = {{"cora", method_names::kNgcn, 83.6, 62, -1},
                                         {"cora", method_names::kNgcnLayerwise, 83.1, 4, -1}};

// A controller learned on `learned_on`, used on `set`; search seconds where the paper counts them.
struct TransferRow {
  const char* learned_on;
  const char* set;
  double f1, seconds, search_seconds;
};
inline constexpr TransferRow kTransfer[] = {{"cora", "cora", 84.1, 0.38, 16},
                                            {"pubmed", "cora", 84.3, 0.36, -1},
                                            {"pubmed", "pubmed", 85.8, 1.50, 125},
                                            {"amazon3m", "cora", 84.8, 0.43, -1},
                                            {"amazon3m", "pubmed", 86.3, 2.43, -1}};

// Growth of one epoch with the number of layers, in the terms of the paper's first table: linear, or
// exponential until the whole graph is reached.
struct ComplexityRow {
  const char* method;
  bool exponential;
};
inline constexpr ComplexityRow kComplexity[] = {
    {method_names::kGcn, false},     {method_names::kMinibatch, true}, {method_names::kGraphSage, true},
    {method_names::kFastGcn, false}, {method_names::kVrGcn, true},     {method_names::kLgcn, false}};

}  // namespace l2gcn::paper
