def ToyModel : SchedMachineModel { let IssueWidth = 2; }

let SchedModel = ToyModel in {
def ToyALU : ProcResource<2>;
def ToyMul : ProcResource<1>;
def : WriteRes<WriteIALU, [ToyALU]>;
def : WriteRes<WriteIMul, [ToyMul]> { let Latency = 2; }
} // SchedModel
