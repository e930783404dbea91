"""Random blocks of instruction sets of words: their schemes, and the operands that can alias.

A folder describes its registers by an `OperandLayout` and itself by a `WordLanguage`.
"""

from inference.isa.words.sampling.schemes import WordBlockScheme, WordLanguage, WordSampling
from inference.isa.words.sampling.slots import OperandLayout

__all__ = ["OperandLayout", "WordBlockScheme", "WordLanguage", "WordSampling"]
