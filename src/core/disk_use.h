// What a run from disk moved, and what its disk could have moved in that time.
#pragma once

#include <cstdint>

namespace l2gcn {

struct DiskUse {
  uint64_t read_bytes = 0, written_bytes = 0;
  double seconds = 0;                    // since the run was placed on disk
  uint64_t planned_bytes = 0;            // read and written, as the plan foresees
  double read_rate = 0, write_rate = 0;  // of the disk, one file after another, as measured for the plan
  // Aggregation from panels of columns alone:
  uint64_t panels = 0;
  uint64_t panel_read_bytes = 0, panel_written_bytes = 0;
  double panel_seconds = 0;
};

}  // namespace l2gcn
