def ToyModel : SchedMachineModel { let IssueWidth = 4; }

let SchedModel = ToyModel in {
def ToyALU : ProcResource<4>;
def ToyFP : ProcResource<2>;
def ToyLoad : ProcResource<1>;
def ToyStore : ProcResource<1>;
def : WriteRes<WriteALU, [ToyALU]>;
def : WriteRes<WriteALULd, [ToyLoad, ToyALU]> { let Latency = 6; let NumMicroOps = 2; }
def : WriteRes<WriteLoad, [ToyLoad]> { let Latency = 4; }
def : WriteRes<WriteStore, [ToyStore]>;
def : WriteRes<WriteShift, [ToyALU]> { let ReleaseAtCycles = [4]; }
def : WriteRes<WriteShiftCL, [ToyALU]>;
def : WriteRes<WriteFAdd64Y, [ToyFP]> { let Latency = 4; }
def : WriteRes<WriteFAdd64YLd, [ToyLoad, ToyFP]> { let Latency = 10; let NumMicroOps = 2; }
def ToyMul : SchedWriteRes<[ToyALU]> { let Latency = 5; let ReleaseAtCycles = [4]; }
def : SchedAlias<WriteIMul64Reg, ToyMul>;

// Shifts by a register, and one by a number for no good reason.
def ToySlow : SchedWriteRes<[ToyALU]> { let Latency = 3; let ReleaseAtCycles = [8]; }
def : InstRW<[ToySlow], (instregex "^SHL64(ri|rCL)",
                         "^SHR64ri")>;
} // SchedModel
