include "llvm/Target/Target.td"
def WriteALU : SchedWrite;
def WriteALULd : SchedWrite;
def WriteLoad : SchedWrite;
def WriteStore : SchedWrite;
def WriteShift : SchedWrite;
def WriteShiftCL : SchedWrite;
def WriteIMul64Reg : SchedWrite;
def WriteFAdd64Y : SchedWrite;
def WriteFAdd64YLd : SchedWrite;
def ReadAfterLd : SchedRead;
def ReadAfterVecYLd : SchedRead;
foreach op = ["ADD64rr", "ADD32rr", "ADD8rr", "SUB64rr"] in def op : Instruction<[WriteALU]>;
def ADD64rm : Instruction<[WriteALULd, ReadAfterLd]>;
def IMUL64rr : Instruction<[WriteIMul64Reg]>;
def MOV64rm : Instruction<[WriteLoad]>;
def MOV64mr : Instruction<[WriteStore]>;
def SHL64ri : Instruction<[WriteShift]>;
def SHR64ri : Instruction<[WriteShift]>;
def SHL64rCL : Instruction<[WriteShiftCL]>;
def VADDPDYrr : Instruction<[WriteFAdd64Y]>;
def VADDPDYrm : Instruction<[WriteFAdd64YLd, ReadAfterVecYLd]>;
include "X86ScheduleToy.td"
def : ProcessorModel<"znver3", ToyModel>;
