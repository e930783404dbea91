// made by: pmweb VERSION
// port mapping: Toy — 6 ports
// note: two lines
// cite: Somebody: Toys.
// opcodes: as llvm-mc 0.0 calls 4 of 15 schemes; other releases may have other names
// latencies: not measured, left at LLVM's default of one cycle: put in those that you know
// check: llvm-tblgen -DPMWEB_STANDALONE FILE
// LLVM 13 to 17 call a field otherwise: -DPMWEB_BEFORE_LLVM_18
// use: include it below Target.td and the instructions, and name PmwebModel in a ProcessorModel

#ifdef PMWEB_STANDALONE
class SchedMachineModel { int IssueWidth = -1; bit CompleteModel = 1; }
class OfModel { SchedMachineModel SchedModel = ?; }
class ProcResourceKind;
class ProcResource<int units> : ProcResourceKind, OfModel { int NumUnits = units; }
class ProcResGroup<list<ProcResource> members> : ProcResourceKind, OfModel {
  list<ProcResource> Resources = members;
}
class SchedReadWrite;
class SchedWriteRes<list<ProcResourceKind> used> : SchedReadWrite, OfModel {
  list<ProcResourceKind> ProcResources = used;
  list<int> ReleaseAtCycles = [];
  list<int> ResourceCycles = [];
  int Latency = 1;
  int NumMicroOps = 1;
}
class InstRW<list<SchedReadWrite> writes, dag opcodes> : OfModel {
  list<SchedReadWrite> OperandReadWrites = writes;
  dag Instrs = opcodes;
}
def instregex;
#endif

def PmwebModel : SchedMachineModel {
  let CompleteModel = 0;
  let IssueWidth = 4; // 4 instructions per cycle; LLVM counts µops here
}

// The µops of an instruction: resources, how many µops each gets, and how many µops there are in all.
class PmwebUops<list<ProcResourceKind> used, list<int> cycles, int uops> : SchedWriteRes<used> {
  let NumMicroOps = uops;
#ifdef PMWEB_BEFORE_LLVM_18
  let ResourceCycles = cycles;
#else
  let ReleaseAtCycles = cycles;
#endif
}

let SchedModel = PmwebModel in {
def PmwebPort0 : ProcResource<1>; // port 0
def PmwebPort1 : ProcResource<1>; // port 1
def PmwebPort5 : ProcResource<1>; // port 5
def PmwebPort6 : ProcResource<1>; // port 6
def PmwebPort23 : ProcResource<1>; // port 23
def PmwebPort4 : ProcResource<1>; // port 4
def PmwebAnyPort : ProcResGroup<[PmwebPort0, PmwebPort1, PmwebPort5, PmwebPort6, PmwebPort23, PmwebPort4]>; // around groups that overlap
def PmwebPort0_1 : ProcResGroup<[PmwebPort0, PmwebPort1]>;
def PmwebPort0_1_5_6 : ProcResGroup<[PmwebPort0, PmwebPort1, PmwebPort5, PmwebPort6]>;

def PmwebWrite0 : PmwebUops<[], [], 1>; // no ports
def PmwebWrite1 : PmwebUops<[PmwebPort0], [1], 1>; // 1×[0]
def PmwebWrite2 : PmwebUops<[PmwebPort0_1], [1], 1>; // 1×[0,1]
def PmwebWrite3 : PmwebUops<[PmwebPort6], [1], 1>; // 1×[6]
def PmwebWrite4 : PmwebUops<[PmwebPort6], [2], 2>; // 2×[6]
def PmwebWrite5 : PmwebUops<[PmwebPort0_1_5_6], [1], 1>; // 1×[0,1,5,6]
def PmwebWrite6 : PmwebUops<[PmwebPort23], [1], 1>; // 1×[23]
def PmwebWrite7 : PmwebUops<[PmwebPort4], [1], 1>; // 1×[4]
def PmwebWrite8 : PmwebUops<[PmwebPort0_1, PmwebPort23], [1, 1], 2>; // 1×[0,1] + 1×[23]
def PmwebWrite9 : PmwebUops<[PmwebPort0_1_5_6, PmwebPort23], [1, 1], 2>; // 1×[0,1,5,6] + 1×[23]
def PmwebWrite10 : PmwebUops<[PmwebPort0_1_5_6, PmwebPort23, PmwebPort4], [2, 1, 1], 4>; // 2×[0,1,5,6] + 1×[23] + 1×[4]

def : InstRW<[PmwebWrite5], (instregex "^ADD64rr$")>; // add GPR[64]:RW, GPR[64]:R; 1×[0,1,5,6]; measured 0.2527 cycles; by the mapping 0.25; 1 µop counted; 5 witnesses; “Toy — 6 ports”; pmweb VERSION
def : InstRW<[PmwebWrite9], (instregex "^ADD64rm$")>; // add GPR[64]:RW, MEM[64]:R; 1×[0,1,5,6] + 1×[23]; not measured alone; by the mapping 1; “Toy — 6 ports”; pmweb VERSION
def : InstRW<[PmwebWrite2], (instregex "^VADDPDYrr$")>; // vaddpd YMM:W, YMM:R, YMM:R; 1×[0,1]; measured 0.5014 cycles; by the mapping 0.5; “Toy — 6 ports”; pmweb VERSION
// the same opcode VADDPDYrr stands for this too, which DIFFERS: vaddpd YMM{k}{z}:W, YMM:R, YMM:R; 1×[0]; not measured alone; by the mapping 1; “Toy — 6 ports”; pmweb VERSION
} // SchedModel = PmwebModel

// schemes without an LLVM opcode: 11
// PmwebWrite5: add GPR[32]:RW, GPR[32]:R; 1×[0,1,5,6]; not measured alone; by the mapping 0.25; “Toy — 6 ports”; pmweb VERSION
// PmwebWrite2: add GPR[8]:RW, GPR[8]:R; 1×[0,1]; not measured alone; by the mapping 0.5; “Toy — 6 ports”; pmweb VERSION
// PmwebWrite10: lock add MEM[64]:RW, GPR[64]:R; 2×[0,1,5,6] + 1×[23] + 1×[4]; not measured alone; by the mapping 1; “Toy — 6 ports”; pmweb VERSION
// PmwebWrite6: mov GPR[64]:W, MEM[64]:R; 1×[23]; not measured alone; by the mapping 1; “Toy — 6 ports”; pmweb VERSION
// PmwebWrite7: mov MEM[64]:W, GPR[64]:R; 1×[4]; not measured alone; by the mapping 1; “Toy — 6 ports”; pmweb VERSION
// PmwebWrite4: shl GPR[64]:RW, cl:R; 2×[6]; measured 2.01 cycles; by the mapping 2; 1 witness; doubtful: counted 3 µops, not 2; “Toy — 6 ports”; pmweb VERSION
// PmwebWrite3: shl GPR[64]:RW, IMM[8]:R; 1×[6]; not measured alone; by the mapping 1; “Toy — 6 ports”; pmweb VERSION
// PmwebWrite8: vaddpd YMM:W, YMM:R, MEM[256]:R; 1×[0,1] + 1×[23]; not measured alone; by the mapping 1; “Toy — 6 ports”; pmweb VERSION
// PmwebWrite5: lea GPR[64]:W, ADDR[B+D8]; 1×[0,1,5,6]; not measured alone; by the mapping 0.25; “Toy — 6 ports”; pmweb VERSION
// PmwebWrite2: lea GPR[64]:W, ADDR[B+S*I+D8]; 1×[0,1]; not measured alone; by the mapping 0.5; “Toy — 6 ports”; pmweb VERSION
// PmwebWrite0: nop; no ports; hidden: 1 µop on 4 or more ports, or none; not measured alone; by the mapping 0.25; “Toy — 6 ports”; pmweb VERSION
