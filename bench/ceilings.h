// Peak rates of this machine, measured in the same run as the figures compared with them.
#pragma once

#include <cstdint>
#include <string>

namespace l2gcn::bench {

struct LibraryCeilings {
  double sgemm_gflops = 0;   // OpenBLAS, 4096³, all threads of the run
  double copy_gbps = 0;      // bytes read + bytes written by a large copy, all threads of the run
  std::string sgemm_kernel;  // the core that OpenBLAS was set to use, or chose
};

// The rate of OpenBLAS's sgemm on 4096³, the fastest of `repeats`. The library is opened at run time, after
// OPENBLAS_CORETYPE has been set to what the processor can run unless the caller set it: releases older than
// the processor fall back to SSE, which would be no ceiling at all. 0 where no OpenBLAS is installed.
double MeasureSgemm(uint32_t threads, int repeats, std::string* kernel = nullptr);

}  // namespace l2gcn::bench
