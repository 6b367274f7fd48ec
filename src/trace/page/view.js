/* What is visible, and where: rows from top to bottom, the range of time from left to right, and
 * what lies under a point. Lengths are CSS pixels. Above the rows stand an overview of all of the
 * time, and the axis. */

const GUTTER = 172, OVERVIEW = 26, AXIS = 24, TOP = OVERVIEW + AXIS;
const GROUP_HEIGHT = 22, SLICE_HEIGHT = 17, LANE_MARGIN = 4, COUNTER_HEIGHT = 40;
const LEAST_SPAN = 20;  // ns

class View {
    constructor(model) {
        this.model = model;
        this.width = this.height = 0;
        this.scroll = 0;  // pixels
        this.folded = new Set();
        this.layOut();
        this.fit();
    }

    /* ---- rows: {kind: 'group' | 'lane' | 'counter', y, height, ...}, y from the top of the first
     */

    layOut() {
        const groups = new Map();
        const group = name =>
            groups.get(name) ?? groups.set(name, {lanes: [], counters: []}).get(name);
        for (const lane of this.model.lanes) group(lane.process).lanes.push(lane);
        for (const counter of this.model.counters) group(counter.process).counters.push(counter);
        this.rows = [];
        this.rowOfLane = [];
        let y = 0;
        const add = (height, row) => {
            this.rows.push(Object.assign(row, {y, height}));
            y += height;
            return row;
        };
        for (const [name, {lanes, counters}] of groups) {
            const isFolded = this.folded.has(name);
            const simulated = lanes.some(lane => lane.simulated);
            const head = add(GROUP_HEIGHT, {kind: 'group', name, isFolded, simulated});
            for (const lane of lanes) {
                const height = Math.max(1, lane.levels.length) * SLICE_HEIGHT + 2 * LANE_MARGIN;
                this.rowOfLane[lane.index] = isFolded ? head : add(height, {kind: 'lane', lane});
            }
            if (!isFolded)
                for (const counter of counters) add(COUNTER_HEIGHT, {kind: 'counter', counter});
        }
        this.rowsHeight = y;
        this.scrollBy(0);
    }

    fold(name) {
        if (!this.folded.delete(name)) this.folded.add(name);
        this.layOut();
    }

    rowAt(y) {
        const inside = y - TOP + this.scroll;
        const i =
            firstWhere(0, this.rows.length, j => this.rows[j].y + this.rows[j].height > inside);
        return y >= TOP && i < this.rows.length ? this.rows[i] : null;
    }

    rowTop(row) { return TOP + row.y - this.scroll; }

    /* The top of a slice, and its row's header's where the row is folded. */
    sliceTop(slice) {
        const row = this.rowOfLane[slice.lane.index];
        return this.rowTop(row) +
               (row.kind === 'group' ? 3 : LANE_MARGIN + slice.depth * SLICE_HEIGHT);
    }

    scrollBy(pixels) {
        const most = Math.max(0, this.rowsHeight - (this.height - TOP));
        this.scroll = Math.min(most, Math.max(0, this.scroll + pixels));
    }

    reveal(lane) {
        const row = this.rowOfLane[lane.index], top = this.rowTop(row);
        if (top < TOP)
            this.scrollBy(top - TOP);
        else if (top + row.height > this.height)
            this.scrollBy(top + row.height - this.height);
    }

    /* ---- time */

    get nsPerPixel() { return (this.to - this.from) / Math.max(1, this.width - GUTTER); }
    x(time) { return GUTTER + (time - this.from) / this.nsPerPixel; }
    time(x) { return this.from + (x - GUTTER) * this.nsPerPixel; }

    /* Shows the range, as far as it can be shown. */
    show(from, to) {
        const margin = 0.02 * this.model.end, first = -margin, last = this.model.end + margin;
        const span = Math.min(last - first, Math.max(LEAST_SPAN, to - from));
        const middle = (from + to) / 2;
        this.from = Math.min(last - span, Math.max(first, middle - span / 2));
        this.to = this.from + span;
    }

    fit() { this.show(-0.01 * this.model.end, 1.01 * this.model.end); }

    /* By the factor; what is at x stays there. */
    zoom(factor, x = (GUTTER + this.width) / 2) {
        const at = this.time(Math.max(GUTTER, x)), span = (this.to - this.from) / factor;
        const least = Math.max(LEAST_SPAN, span), share = (at - this.from) / (this.to - this.from);
        this.show(at - share * least, at + (1 - share) * least);
    }

    pan(pixels) {
        this.show(this.from + pixels * this.nsPerPixel, this.to + pixels * this.nsPerPixel);
    }

    showEvent(event) {
        const margin = Math.max(LEAST_SPAN, event.end - event.start);
        this.show(event.start - margin, event.end + margin);
    }

    /* ---- what lies under a point: {slice}, {wait}, {counter, index}, {group}, or null */

    hit(x, y) {
        const row = this.rowAt(y);
        if (!row) return null;
        if (row.kind === 'group') return {group: row.name};
        if (x < GUTTER) return null;
        if (row.kind === 'counter') return this.hitCounter(row.counter, this.time(x));
        const depth = Math.floor((y - this.rowTop(row) - LANE_MARGIN) / SLICE_HEIGHT);
        const slice = this.hitSlice(row.lane.levels[depth], this.time(x));
        if (slice) return {slice};
        const wait = this.hitWait(row.lane, this.time(x));
        return wait && {wait};
    }

    /* The slice at the time, or a near one: a short one is hard to meet. */
    hitSlice(level, time) {
        if (!level) return null;
        const near = 3 * this.nsPerPixel;
        const i = level.firstEndingAfter(time);
        let best = null, least = near;
        for (const slice of [level.slices[i - 1], level.slices[i]]) {
            if (!slice) continue;
            const distance = Math.max(slice.start - time, time - slice.end, 0);
            if (distance <= least) {
                best = slice;
                least = distance;
            }
        }
        return best;
    }

    /* The innermost: the last that began. */
    hitWait(lane, time) {
        const near = 2 * this.nsPerPixel;
        const last = firstWhere(0, lane.waits.length, i => lane.waits[i].start > time + near) - 1;
        for (let i = last; i >= 0 && lane.waitEnds[i] >= time - near; i--)
            if (lane.waits[i].end >= time - near) return lane.waits[i];
        return null;
    }

    hitCounter(counter, time) {
        const index = firstWhere(0, counter.time.length, i => counter.time[i] > time) - 1;
        return index >= 0 ? {counter, index} : null;
    }
}
