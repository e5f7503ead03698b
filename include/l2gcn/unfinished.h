// What a run that is not finished says of itself, for people who ask; nothing is changed.
#pragma once

#include <string>

namespace l2gcn {

// One JSON object: {"run", "training" (a process is at it), "dataset", "runs", "seeds_finished", "settings": {name: value},
// "checkpoint": {"seed", "layer", "epoch"} or null, "resume": the command that goes on}. "" where `directory` names no
// unfinished run, or a finished one. Throws Error(kInput) for damaged files.
std::string DescribeUnfinishedJson(const std::string& directory);

}  // namespace l2gcn
