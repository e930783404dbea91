include "llvm/Target/Target.td"
def WriteIALU : SchedWrite;
def WriteIMul : SchedWrite;
def ReadIALU : SchedRead;
class RiscvInstruction<list<SchedReadWrite> used> : Instruction<used> { let Namespace = "RISCV"; }
foreach op = ["ADD", "SUB"] in def op : RiscvInstruction<[WriteIALU, ReadIALU, ReadIALU]>;
def MUL : RiscvInstruction<[WriteIMul, ReadIALU, ReadIALU]>;
include "RISCVSchedToy.td"
def : ProcessorModel<"toy-p4", ToyModel>;
