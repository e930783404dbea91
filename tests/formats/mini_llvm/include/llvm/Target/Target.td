// The few classes of a scheduling model, under LLVM's names: a target that llvm-tblgen reads at once.
class SchedMachineModel { int IssueWidth = -1; }
class SchedReadWrite;
class SchedWrite : SchedReadWrite;
class SchedRead : SchedReadWrite;
class ProcResourceKind;
class ProcResource<int units> : ProcResourceKind { int NumUnits = units; SchedMachineModel SchedModel = ?; }
class ProcResGroup<list<ProcResource> members> : ProcResourceKind {
  list<ProcResource> Resources = members;
  SchedMachineModel SchedModel = ?;
}
class ProcWriteResources<list<ProcResourceKind> used> {
  list<ProcResourceKind> ProcResources = used;
  list<int> ReleaseAtCycles = [];
  int Latency = 1;
  int NumMicroOps = 1;
  SchedMachineModel SchedModel = ?;
}
class SchedWriteRes<list<ProcResourceKind> used> : SchedWrite, ProcWriteResources<used>;
class WriteRes<SchedWrite write, list<ProcResourceKind> used> : ProcWriteResources<used> {
  SchedWrite WriteType = write;
}
class SchedAlias<SchedReadWrite match, SchedReadWrite alias> {
  SchedReadWrite MatchRW = match;
  SchedReadWrite AliasRW = alias;
  SchedMachineModel SchedModel = ?;
}
class InstRW<list<SchedReadWrite> writes, dag opcodes> {
  list<SchedReadWrite> OperandReadWrites = writes;
  dag Instrs = opcodes;
  SchedMachineModel SchedModel = ?;
}
def instregex;
def instrs;
class Instruction<list<SchedReadWrite> used> { string Namespace = "X86"; list<SchedReadWrite> SchedRW = used; }
class ProcessorModel<string name, SchedMachineModel model> { string Name = name; SchedMachineModel SchedModel = model; }
