'use strict';
/* The model: what html.c wrote, read back into objects, and the questions that the page asks of it.
 * Times are nanoseconds from the begin of recording. */

const COLLECTIVE = 1, BACKWARD = 2, FAILED = 4, SKIPPED = 8, SUBNORMAL = 16; // as in html.c
const WAITS = ['for an array', 'for', 'for everything', 'for room in the run-ahead window',
               'for workers to catch up'];

/* The first index in [from, to) at which `holds` is true; to when there is none. False ones come
 * first. */
function firstWhere(from, to, holds) {
    while (from < to) {
        const middle = (from + to) >>> 1;
        if (holds(middle))
            to = middle;
        else
            from = middle + 1;
    }
    return from;
}

/* Slices of a lane at one depth of nesting: none overlaps another, so starts and ends ascend. */
class Level {
    constructor(slices) {
        const count = slices.length;
        this.slices = slices;
        this.start = Float64Array.from(slices, slice => slice.start);
        this.end = Float64Array.from(slices, slice => slice.end);
        this.busy = new Float64Array(count + 1); // of all slices before
        this.marked = null; // how many marked ones lie before; null: nothing is marked
        for (let i = 0; i < count; i++)
            this.busy[i + 1] = this.busy[i] + this.end[i] - this.start[i];
    }

    firstEndingAfter(time) { return firstWhere(0, this.end.length, i => this.end[i] > time); }
    firstStartingAt(time, from = 0) {
        return firstWhere(from, this.start.length, i => this.start[i] >= time);
    }

    /* How much of the time before this one the level was busy. */
    busyBefore(time) {
        const i = this.firstEndingAfter(time);
        return this.busy[i] + (i < this.start.length ? Math.max(0, time - this.start[i]) : 0);
    }

    mark(marks) {
        this.marked = marks && new Uint32Array(this.slices.length + 1);
        for (let i = 0; marks && i < this.slices.length; i++)
            this.marked[i + 1] = this.marked[i] + marks[this.slices[i].call.index];
    }
}

class Model {
    constructor(data) {
        this.title = data.title || 'Timeline';
        this.duration = data.duration;
        this.lost = data.lost;
        this.limit = data.limit;
        this.sums = data.sums;
        this.lanes = data.lanes.map(([process, name, simulated], index) => ({
            index, process, name, simulated: !!simulated, levels: [], waits: [], waitEnds: null,
        }));
        this.queues = data.queues.map(
            ([device, name, simulated, copy, busy]) =>
                ({device, name, simulated: !!simulated, copy: !!copy, busy, calls: 0}));
        this.colours = data.colours;
        this.readCalls(data.calls, data.texts);
        this.readSlices(data.slices);
        this.readWaits(data.waits, data.texts);
        this.readCounters(data.counters);
        this.critical = {
            length: data.critical.length,
            calls: data.critical.calls.map(i => this.calls[i])
        };
        this.readOperations();
        this.end = Math.max(this.duration, 1);
        for (const {levels, waitEnds} of this.lanes)
            for (const last of [...levels.map(level => level.end.at(-1)), waitEnds.at(-1) ?? 0])
                this.end = Math.max(this.end, last);
    }

    readCalls(numbers, texts) {
        this.calls = [];
        let sequence = 0, issue = 0;
        for (let i = 0; i < numbers.length;) {
            sequence += numbers[i++];
            const call = {
                index: this.calls.length,
                sequence,
                operation: texts[numbers[i++]],
                shapes: texts[numbers[i++]],
                file: texts[numbers[i++]],
                line: numbers[i++],
                queue: this.queues[numbers[i++]],
                flags: numbers[i++],
                colour: numbers[i++],
                issue: issue += numbers[i++],
                ready: issue + numbers[i++],
                start: issue + numbers[i++],
                end: 0,
                wallStart: 0,
                wallEnd: 0,
                bytes: 0,
                dependencies: [],
                dependents: [],
                slices: [],
            };
            call.end = call.start + numbers[i++];
            call.wallStart = call.start + numbers[i++];
            call.wallEnd = call.end + numbers[i++];
            call.bytes = numbers[i++];
            for (let count = numbers[i++]; count > 0; count--) {
                const dependency = this.calls[call.index - numbers[i++]];
                call.dependencies.push(dependency);
                dependency.dependents.push(call);
            }
            call.queue.calls++;
            this.calls.push(call);
        }
    }

    readSlices(numbers) {
        this.sliceCount = numbers.length / 5;
        let start = 0, before = null, open = [], levels = [];
        for (let i = 0; i < numbers.length; i += 5) {
            const lane = this.lanes[numbers[i + 1]];
            if (lane !== before) {
                before = lane;
                open = [];
                levels = lane.levels;
            }
            start += numbers[i + 3];
            const slice = {
                call: this.calls[numbers[i]],
                lane,
                piece: numbers[i + 2],
                start,
                end: start + numbers[i + 4],
                depth: 0
            };
            while (open.length && open.at(-1) <= start) open.pop();
            slice.depth = open.length;
            open.push(slice.end);
            (levels[slice.depth] ??= []).push(slice);
            slice.call.slices.push(slice);
        }
        for (const lane of this.lanes) lane.levels = lane.levels.map(slices => new Level(slices));
    }

    readWaits(numbers, texts) {
        this.waits = [];
        let start = 0;
        for (let i = 0; i < numbers.length; i += 8) {
            start += numbers[i + 5];
            const wait = {
                index: this.waits.length,
                lane: this.lanes[numbers[i]],
                kind: numbers[i + 1],
                device: texts[numbers[i + 2]],
                file: texts[numbers[i + 3]],
                line: numbers[i + 4],
                start,
                end: start + numbers[i + 6],
                lastCall: this.calls[numbers[i + 7]] ?? null,
            };
            this.waits.push(wait);
            wait.lane.waits.push(wait);
        }
        for (const lane of this.lanes) { // the latest end so far: ascends even where waits nest
            let latest = -Infinity;
            lane.waitEnds = lane.waits.map(wait => latest = Math.max(latest, wait.end));
        }
    }

    readCounters(counters) {
        this.counters = counters.map(([process, name, unit, numbers]) => {
            const count = numbers.length / 2, time = new Float64Array(count),
                  value = new Float64Array(count);
            let last = 0, most = 0;
            for (let i = 0; i < count; i++) {
                time[i] = last += numbers[2 * i];
                value[i] = numbers[2 * i + 1];
                most = Math.max(most, value[i]);
            }
            return {process, name, unit, time, value, most};
        });
    }

    /* By total time: the table of the panel. */
    readOperations() {
        const byName = new Map();
        for (const call of this.calls) {
            let operation = byName.get(call.operation);
            if (!operation)
                byName.set(call.operation, operation = {
                    name: call.operation,
                    calls: 0,
                    time: 0,
                    longest: 0,
                    bytes: 0,
                    colour: call.colour
                });
            operation.calls++;
            operation.time += call.end - call.start;
            operation.longest = Math.max(operation.longest, call.end - call.start);
            operation.bytes += call.bytes;
        }
        this.operations =
            [...byName.values()].sort((a, b) => b.time - a.time || (a.name < b.name ? -1 : 1));
    }

    /* Marks calls: an array with 1 for each by index, or null for none. */
    mark(marks) {
        this.marks = marks;
        for (const lane of this.lanes)
            for (const level of lane.levels) level.mark(marks);
    }

    /* Calls whose operation or source line contains the text. */
    find(text) {
        const wanted = text.trim().toLowerCase();
        const has = name => name.toLowerCase().includes(wanted);
        return wanted ? this.calls.filter(call => has(call.operation) || has(source(call))) : [];
    }

    /* By sequence number; undefined when there is none. */
    callOf(sequence) {
        const i = firstWhere(0, this.calls.length, j => this.calls[j].sequence >= sequence);
        return this.calls[i]?.sequence === sequence ? this.calls[i] : undefined;
    }
}

/* ---- as people read it ---- */

function source(event) { return event.file ? `${event.file}:${event.line}` : ''; }

function grouped(number) { return Math.round(number).toLocaleString('en-US'); }

function counted(number, noun) { return `${grouped(number)} ${noun}${number === 1 ? '' : 's'}`; }

function digits(number) {
    const size = Math.abs(number);
    return number.toFixed(size >= 99.95 || Number.isInteger(number) ? 0 : size >= 9.995 ? 1 : 2);
}

/* A length of time. */
function duration(ns) {
    const size = Math.abs(ns);
    if (size < 999.5) return `${Math.round(ns)} ns`;
    if (size < 999.5e3) return `${digits(ns / 1e3)} µs`;
    if (size < 999.5e6) return `${digits(ns / 1e6)} ms`;
    return `${digits(ns / 1e9)} s`;
}

/* A moment, exact to the step (ns), in the unit that suits `most`. */
function moment(ns, step = 1, most = ns) {
    const [size, unit] = most < 1e3 ? [1, 'ns'] :
                         most < 1e6 ? [1e3, 'µs'] :
                         most < 1e9 ? [1e6, 'ms'] :
                                      [1e9, 's'];
    return `${(ns / size).toFixed(Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9)))} ${unit}`;
}

function bytes(count) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    for (; Math.abs(count) >= 1023.5 && unit < units.length - 1; unit++) count /= 1024;
    return `${digits(count)} ${units[unit]}`;
}

function amount(value, unit) {
    return unit === 'bytes' ? bytes(value) : `${grouped(value)} ${unit}`;
}

function percent(part, whole) { return whole > 0 ? `${digits(100 * part / whole)} %` : '–'; }
