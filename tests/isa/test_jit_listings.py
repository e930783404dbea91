"""Code as JIT compilers print it: the loops, their instructions and where these come from."""

from __future__ import annotations

import pytest

from inference.isa.blocks import BlockError, BlocksOfText, read

JITDISASM = """\
; Assembly listing for method Prog:Sum(System.Span`1[int]):int (Tier1)
; Emitting BLENDED_CODE for generic X64 + VEX on Unix

G_M000_IG01:                ;; offset=0x0000
       sub      rsp, 104

G_M000_IG02:                ;; offset=0x0004
       xor      rax, rax
       mov      rcx, gword ptr [rdi+0x08]
       vmovups  ymm0, ymmword ptr [reloc @RWD00]
       align    [4 bytes for IG03]

G_M000_IG03:                ;; offset=0x0020
       vpaddd   ymm0, ymm0, ymmword ptr [rcx+4*rax]
; ^^^^^^^^^^^^^^^^^^^^^^^^ (vpaddd: 3) 32B boundary ...............................
       lock
       xadd     dword ptr [rdi], edx
       imul     rdx:rax, r8
       vmovmskps rsi, ymm2
       dec      esi
       jne      SHORT G_M000_IG03
						;; size=8 bbWeight=4    PerfScore 5.00

G_M000_IG04:
       call     [System.Buffer:Memmove(byref,byref,ulong)]
       mov      rdi, 0x781E6C8A1888      ; const ptr; add eax, 5
       tail.jmp [Prog:Next(int):int]

RWD00  	dq	0000000200000000h, 0000000600000004h

; Total bytes of code 98
"""

LUAJIT = """\
---- TRACE 1 start a.lua:3
0007  MULVN    6   5   0  ; 0.5
0009  FORL     2 => 0007
---- TRACE 1 IR
0001 rbp      int SLOAD  #4    CI
0006 ------------ LOOP ------------
---- TRACE 1 mcode 40
7f816496ffd1  add ebx, +0x01
7f816496ffd4  cmp ebx, 0x05f5e100
7f816496ffda  jg 0x7f8164960050\t->1
->LOOP:
7f816496ffe0  mov [rsp+0x8], ebp
7f816496ffe4  mov r15d, ebp
7f816496ffe7  add ebp, +0x01
7f816496ffea  jo 0x7f8164960054 ->2
7f816496fff0  add ebx, +0x01
7f816496fff3  cmp ebx, 0x05f5e100
7f816496fff9  jle 0x7f816496ffe0        ->LOOP
7f816496fffb  jmp 0x7f8164960058        ->3
---- TRACE 1 stop -> loop
---- TRACE 2 mcode 20
7f816496ff80  add ebx, +0x01
7f816496ff83  cmp ebx, +0x07
7f816496ff86  jle 0x7f816496ff80\t->1
---- TRACE 2 stop -> 2
"""

V8 = """\
name = f
Instructions (size = 692)
0x7f0f6c005e00     0  4803d8               REX.W addq rbx,rax
0x7f0f6c005e03     3  493b65a0             REX.W cmpq rsp,[r13-0x60] (external value (StackGuard::limit()))
0x7f0f6c005e07     7  72f7                 jc 0x7f0f6c005e00  <+0x0>
0x7f0f6c005e09     9  c3                   retl

Source positions:
 pc offset  position
        27        10
RelocInfo (size = 12)
0x7f0f6c005e0a  near builtin entry
"""

HOTSPOT = """\
[Constant Pool]
  0x00007fbb99400ec0:   0x00000000      0x0000000000000000
[MachCode]
[Verified Entry Point]
  # {method} {0x00007fbb2b400338} 'dot' '([D[D)D' in 'D'
  0x00007fbb99400ee0: ;   {no_reloc}
  0x00007fbb99400ee0: 4801 d848 | 83

  0x00007fbb99400ee5: ; ImmutableOopMap {rsi=Oop rdx=Oop }
  0x00007fbb99400ee5: c208 | 7ff7 | c3
[Exception Handler]
  0x00007fbb99400eea: f4
"""


def texts(reading: BlocksOfText, kind: str = "loop") -> list[list[str]]:
    return [[text for _, text in piece.block.listing] for piece in reading.pieces if piece.block.kind == kind]


def test_jitdisasm_is_read_by_its_labels() -> None:
    reading = read(JITDISASM, 99)
    assert texts(reading) == [
        [
            "vpaddd ymm0, ymm0, ymmword ptr [rcx+rax*4]",
            "lock xadd dword ptr [rdi], edx",
            "imul r8",
            "vmovmskps esi, ymm2",
            "dec esi",
            "jne .loop",
        ]
    ]
    assert [piece.name for piece in reading.pieces][:2] == ["Prog:Sum", "G_M000_IG03"]
    assert texts(reading, "straight")[0] == [
        "sub rsp, 0x68",
        "xor eax, eax",  # what the code of `xor rax, rax` is
        "mov rcx, qword ptr [rdi+8]",
        "vmovups ymm0, ymmword ptr [rip]",
    ]
    assert not reading.dropped


def test_labels_of_one_method_are_no_targets_of_another() -> None:
    other = JITDISASM.replace("vpaddd ", "vpsubd ").replace("Prog:Sum", "Prog:Less")
    reading = read(JITDISASM + other, 99)
    assert [loop[0].split()[0] for loop in texts(reading)] == ["vpaddd", "vpsubd"]


def test_bytes_of_jitdisasm_win() -> None:
    text = """\
G_M18430_IG03:              ;; offset=000CH
       C5F8100557000000     vmovups  xmm0, xmmword ptr [reloc @RWD00]
       6690                 align    [2 bytes for IG04]
       4883C008             add      rax, 8
       75F0                 jne      SHORT G_M18430_IG03
; Total bytes of code: 29
"""
    assert [piece.block.hex for piece in read(text, 9).pieces] == ["c5f810055700000066904883c00875f0"]


def test_numbers_of_benchmarkdotnet_are_hexadecimal() -> None:
    text = """\
## .NET 8.0.4 (8.0.424.16909), X64 RyuJIT AVX2
```assembly
; Arrays.Sum()
       sub       rsp,28
       mov       rcx,offset MT_System.Func<System.String>
       vucomiss  xmm0,dword ptr [7FFEE0E39D90]
; 			for (int i = 0; i < n; i++)
; 			     ^^^^^^^^^
M00_L00:
       mov       ecx,[rax+rcx*4+10]
       imul      ecx,esi,3E8
       mov       [r8+0A0],ecx
       inc       esi
       jg        short M00_L00
       call      qword ptr [7FF983325C98]; System.Text.Json.Read(System.ReadOnlySpan`1<Char>)
; Total bytes of code 54
```
"""
    reading = read(text, 9)
    assert texts(reading) == [
        [
            "mov ecx, dword ptr [rax+rcx*4+0x10]",
            "imul ecx, esi, 0x3E8",
            "mov dword ptr [r8+0xA0], ecx",
            "inc esi",
            "jg .loop",
        ]
    ]
    assert texts(reading, "straight")[0][0] == "sub rsp, 0x28"
    assert not reading.dropped


def test_places_of_sos_are_kept() -> None:
    text = """\
C:\\Hello\\Program.cs @ 8:
00007ffa`45410621 4883ec40        sub     rsp,40h
>>> 00007ffa`45410625 75fa            jne     Hello!Program.Main()+0x2a (00007ffa`45410621)
"""
    (piece,) = read(text, 9).pieces
    assert piece.block.kind == "loop"
    assert [str(line.source) for line in piece.lines] == ["C:\\Hello\\Program.cs:8"] * 2


def test_traces_of_luajit_have_their_loops() -> None:
    reading = read(LUAJIT, 99)
    assert {
        piece.name: len(piece.block.listing) for piece in reading.pieces if piece.block.kind == "loop"
    } == {
        "TRACE 1 LOOP": 6,
        "TRACE 2": 3,  # a trace that jumps to its own start
    }
    assert not reading.dropped
    assert any("LuaJIT's IR × 2" in note for note in reading.notes)


def test_code_of_v8_is_read_by_its_bytes() -> None:
    (piece,) = read(V8, 9).pieces
    assert (piece.name, piece.block.hex) == ("f", "4803d8493b65a072f7")
    with pytest.raises(BlockError):
        read(V8.replace("     3  493b", "     4  493b"), 9)  # whose offsets contradict each other


def test_words_of_hotspot_are_joined_across_lines() -> None:
    (loop,) = (piece for piece in read(HOTSPOT, 9).pieces if piece.block.kind == "loop")
    assert (loop.name, loop.block.hex) == ("D::dot", "4801d84883c2087ff7")
