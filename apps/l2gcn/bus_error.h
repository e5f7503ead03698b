// A mapped file that another program cuts short while it is read raises SIGBUS: there is nothing to read
// where the page was. The program ends then with status 1 and a message that names the file.
//
// Why a handler that ends the process: going on would need a jump out of arbitrary code on any thread, which
// no object survives. Nothing is lost by ending: outputs are written aside, what is left of them is
// recognised and removed by the next run, and a training goes on with --resume.
#pragma once

namespace l2gcn::cli {

void ListenForBusErrors();

}  // namespace l2gcn::cli
