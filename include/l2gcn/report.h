// A run, several runs, a comparison or a reproduction as one HTML page that needs nothing else: no network,
// no other file. Light and dark, tables without JavaScript, charts that answer to pointer and keys with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "l2gcn/context.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

struct ReportOptions {
  uint32_t map_nodes = 1000;       // nodes drawn in the map of the embeddings, sampled; 0: no map
  std::string map = "tsne";        // tsne | pca
  bool ceilings = true;            // measure what this machine can do, for runs on its CPU (half a second)
  bool open_data = true;           // open the data set: scores by class, distributions and the map need it
  std::string data_dir;            // where data sets are looked for first
  std::vector<std::string> notes;  // from opening the data set, where MakeReport is given that data set
};

// A copy of `context` that also appends its notes and warnings to `notes`, which must outlive it.
Context CollectingNotes(const Context& context, std::vector<std::string>& notes);

// Each source is a run directory, a file that compare --json printed, or a folder that compare or reproduce
// wrote. `dataset`: the runs' data set where it is open already, else null. Throws Error(kInput) for anything
// else.
std::string MakeReport(const Context& context, const std::vector<std::string>& sources,
                       const ReportOptions& options, const Dataset* dataset = nullptr);

// The page into a file, written aside and put in place whole.
void WriteReport(const Context& context, const std::vector<std::string>& sources,
                 const ReportOptions& options, const std::string& path, const Dataset* dataset = nullptr);

}  // namespace l2gcn
