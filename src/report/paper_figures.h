// What the paper prints: F1 in per cent, seconds and MiB on one GTX 1080 Ti. Negative: a dash in the paper.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace l2gcn::paper {

struct SotaRow {
  const char* set;
  const char* method;
  double f1, seconds, mebibytes;
};
inline constexpr SotaRow kSota[] = {
    {"cora", "graphsage", 85.0, 18, 655},
    {"cora", "fastgcn", 85.5, 6.02, 659},
    {"cora", "vrgcn", 85.4, 5.47, 253},
    {"cora", "lgcn", 84.7, 0.45, 619},
    {"cora", "l2gcn", 84.1, 0.38, 619},
    {"pubmed", "graphsage", 86.5, 483, 675},
    {"pubmed", "fastgcn", 87.4, 32, 851},
    {"pubmed", "vrgcn", 86.4, 118, 375},
    {"pubmed", "lgcn", 86.8, 2.93, 619},
    {"pubmed", "l2gcn", 85.8, 1.50, 631},
    {"ppi", "graphsage", 68.8, 402, 849},
    {"ppi", "fastgcn", -1, -1, -1},
    {"ppi", "vrgcn", 98.6, 63, 759},
    {"ppi", "lgcn", 97.2, 49, 629},
    {"ppi", "l2gcn", 96.8, 26, 631},
    {"reddit", "graphsage", 93.4, 998, 4343},
    {"reddit", "fastgcn", 92.6, 761, 4429},
    {"reddit", "vrgcn", 96.0, 201, 1271},
    {"reddit", "lgcn", 94.2, 44, 621},
    {"reddit", "l2gcn", 94.0, 34, 635},
    {"amazon670k", "graphsage", 83.1, 2153, 849},
    {"amazon670k", "fastgcn", 76.1, 548, 1621},
    {"amazon670k", "vrgcn", 92.7, 534, 625},
    {"amazon670k", "lgcn", 91.6, 54, 601},
    {"amazon670k", "l2gcn", 91.2, 30, 613},
    {"amazon3m", "graphsage", -1, -1, -1},
    {"amazon3m", "fastgcn", -1, -1, -1},
    {"amazon3m", "vrgcn", 88.3, 2165, 625},
    {"amazon3m", "lgcn", 88.4, 203, 601},
    {"amazon3m", "l2gcn", 88.4, 125, 613},
};

struct EpochsRow {
  const char* set;
  const char* method;
  uint32_t layers;
  const char* epochs;  // how many each layer gets
  double f1;
};
inline constexpr EpochsRow kEpochs[] = {
    {"cora", "lgcn", 2, "60", 83.2},        {"cora", "lgcn", 2, "80", 84.7},
    {"cora", "lgcn", 2, "100", 83.0},       {"cora", "l2gcn", 2, "", 84.1},
    {"pubmed", "lgcn", 2, "100", 86.8},     {"pubmed", "lgcn", 2, "120", 86.3},
    {"pubmed", "lgcn", 2, "140", 86.4},     {"pubmed", "l2gcn", 2, "", 85.8},
    {"ppi", "lgcn", 2, "400", 93.7},        {"ppi", "lgcn", 2, "500", 94.1},
    {"ppi", "lgcn", 2, "600", 94.9},        {"ppi", "l2gcn", 2, "", 94.1},
    {"reddit", "lgcn", 2, "60", 93.0},      {"reddit", "lgcn", 2, "80", 93.5},
    {"reddit", "lgcn", 2, "100", 93.8},     {"reddit", "l2gcn", 2, "", 92.2},
    {"amazon670k", "lgcn", 2, "60", 91.4},  {"amazon670k", "lgcn", 2, "80", 91.6},
    {"amazon670k", "lgcn", 2, "100", 91.7}, {"amazon670k", "l2gcn", 2, "", 91.2},
    {"amazon3m", "lgcn", 2, "60", 88.2},    {"amazon3m", "lgcn", 2, "80", 88.4},
    {"amazon3m", "lgcn", 2, "100", 88.3},   {"amazon3m", "l2gcn", 2, "", 88.0},
};

inline constexpr EpochsRow kDepth[] = {
    {"ppi", "lgcn", 2, "400", 93.7},     {"ppi", "l2gcn", 2, "", 94.1},
    {"ppi", "lgcn", 3, "400", 97.2},     {"ppi", "l2gcn", 3, "", 96.8},
    {"ppi", "lgcn", 4, "400", 97.7},     {"ppi", "l2gcn", 4, "", 97.3},
    {"reddit", "lgcn", 2, "100", 93.8},  {"reddit", "l2gcn", 2, "", 92.2},
    {"reddit", "lgcn", 3, "100", 94.2},  {"reddit", "l2gcn", 3, "", 94.0},
    {"reddit", "lgcn", 4, "100", 94.5},  {"reddit", "l2gcn", 4, "", 94.3},
    {"amazon3m", "lgcn", 2, "80", 88.4}, {"amazon3m", "l2gcn", 2, "", 88.0},
    {"amazon3m", "lgcn", 3, "80", 89.0}, {"amazon3m", "l2gcn", 3, "", 88.7},
    {"amazon3m", "lgcn", 4, "80", 89.2}, {"amazon3m", "l2gcn", 4, "", 89.0},
};

inline constexpr SotaRow kNgcn[] = {{"cora", "ngcn", 83.6, 62, -1}, {"cora", "ngcn-layerwise", 83.1, 4, -1}};

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

}  // namespace l2gcn::paper
