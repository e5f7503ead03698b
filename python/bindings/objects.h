// The library's objects as Python holds them. Each is a handle on a struct of the library; the Python package
// (python/l2gcn) gives them names, arguments and documentation.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "call.h"
#include "l2gcn/controller.h"
#include "l2gcn/dataset.h"
#include "l2gcn/model.h"
#include "l2gcn/train.h"

namespace l2gcn::python {

namespace nb = nanobind;

// A data set and how it was opened, so that a run trained on it can say so.
struct DatasetHandle {
  Dataset data;
  std::string spec;     // "" for arrays
  OpenOptions options;  // likewise
  double load_seconds = 0;
};

struct ModelHandle {
  Model model;
};

// What a training left: one Trained for each seed, and the result the program prints.
struct RunHandle {
  std::shared_ptr<DatasetHandle> data;
  std::vector<Trained> trained;
  TrainResult result;
  Overrides overrides;
};

struct ControllerHandle {
  Controller controller;
  SearchConfig config;
  SearchResult result;
};

// (nodes) or empty, of Role, as a NumPy array or None.
nb::object GiveRoles(const Split& split);

// The columns of a table as a list of dicts.
nb::list GiveSchema(const TableSchema& schema);

void BindDataset(nb::module_& module);
void BindSettings(nb::module_& module);
void BindModel(nb::module_& module);
void BindTraining(nb::module_& module);
void BindStudies(nb::module_& module);

}  // namespace l2gcn::python
