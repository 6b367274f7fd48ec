"""Which steps a recording consists of: a step ends with its last update of a parameter."""

from __future__ import annotations

from dataclasses import dataclass

from recording import Recording


@dataclass
class Steps:
    of_call: list[int]  # by call; `count` for those after the last step
    count: int  # at least 1
    has_updates: bool  # else the whole recording is one step

    def counts(self, recording: Recording, call: int, step: int) -> bool:
        """Whether the call is one of those whose end is the step's."""
        return self.of_call[call] == step and (recording.calls[call].is_update or not self.has_updates)

    def end_ns(self, recording: Recording, step: int) -> int:
        """When the step ended in the recording; 0 where it has no such step."""
        ends = (call.end_ns for i, call in enumerate(recording.calls) if self.counts(recording, i, step))
        return max(0, max(ends, default=0))


def find_steps(recording: Recording) -> Steps:
    """A call that depends on an update belongs to a later step than that; what depends on it, too. So an update's step
    is known, and all else goes with the next one in the order of calls."""
    calls = recording.calls
    of_call = [0] * len(calls)
    count = 0
    for i, call in enumerate(calls):
        for before in call.after:
            of_call[i] = max(of_call[i], of_call[before] + (calls[before].is_update and not call.is_update))
        if call.is_update:
            count = max(count, of_call[i] + 1)
    current = count
    for i in reversed(range(len(calls))):
        if calls[i].is_update:
            current = min(current, of_call[i])
        of_call[i] = current
    return Steps(of_call, max(count, 1), count > 0)
