"""The engines that the service knows how to drive, one module each."""

from __future__ import annotations

from conduck_service.executors.preset.frame import Preset
from conduck_service.executors.presets.claude_code import CLAUDE_CODE
from conduck_service.executors.presets.codex import CODEX
from conduck_service.executors.presets.copilot import COPILOT
from conduck_service.executors.presets.gemini import GEMINI
from conduck_service.executors.presets.llm import LLM
from conduck_service.executors.presets.opencode import OPENCODE
from conduck_service.executors.presets.pi import PI
from conduck_service.executors.presets.qwen import QWEN
from conduck_service.executors.presets.vibe import VIBE

PRESETS: tuple[Preset, ...] = (
    CLAUDE_CODE,
    CODEX,
    OPENCODE,
    COPILOT,
    PI,
    GEMINI,
    VIBE,
    QWEN,
    LLM,
)
"""In the order in which setup prefers them; a new engine is one line here."""
