/* Drawing. The picture is the canvas `base`; what changes with every move of the mouse is drawn on
 * `overlay`. Where slices are narrower than a pixel, those that begin in one pixel are drawn as one
 * column: its colour is that of the longest of them, and it is fainter the less of its time is
 * busy. So a frame costs what is visible. */

const FONT = '11.5px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
const DIM = 0.16;

/* The variables of timeline.css, as they are now. */
function readTheme() {
    const style = getComputedStyle(document.documentElement), theme = {};
    for (const name
             of ['back', 'panel', 'text', 'muted', 'line', 'group', 'stripe', 'accent', 'danger',
                 'wait', 'area', 'tone', 'chosen'])
        theme[name] = style.getPropertyValue(`--${name}`).trim();
    return theme;
}

/* Red, green and blue of "#rrggbb". */
function channelsOf(colour, share = 1) {
    return [1, 3, 5].map(i => Math.round(parseInt(colour.slice(i, i + 2), 16) * share));
}

class Painter {
    constructor(view, base, overlay) {
        this.view = view;
        this.base = base.getContext('2d');
        this.overlay = overlay.getContext('2d');
        this.strip = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
        this.restyle();
    }

    restyle() {
        this.theme = readTheme();
        // Colours of calls are made for dark text on light paper; on dark paper they are toned
        // down.
        this.channels =
            this.view.model.colours.map(colour => channelsOf(colour, Number(this.theme.tone)));
        this.colours = this.channels.map(channels => `rgb(${channels})`);
        this.failedChannels = channelsOf(this.theme.danger);
        this.hatch = this.hatching(this.theme.wait);
        this.failedHatch = this.hatching('#0009');
        this.overview = null;
        this.widths = new Map();
    }

    colourOf(call) { return call.flags & FAILED ? this.theme.danger : this.colours[call.colour]; }

    hatching(colour) {
        const tile = document.createElement('canvas');
        tile.width = tile.height = 6;
        const context = tile.getContext('2d');
        context.strokeStyle = colour;
        context.lineWidth = 1.2;
        context.beginPath();
        for (const x of [-6, 0, 6]) {
            context.moveTo(x - 1, 7);
            context.lineTo(x + 7, -1);
        }
        context.stroke();
        return this.base.createPattern(tile, 'repeat');
    }

    resize() {
        const {canvas} = this.base, scale = devicePixelRatio || 1,
              {width, height} = canvas.getBoundingClientRect();
        Object.assign(this.view, {width, height});
        for (const {canvas: each} of [this.base, this.overlay]) {
            each.width = Math.max(1, Math.round(width * scale));
            each.height = Math.max(1, Math.round(height * scale));
            each.getContext('2d').setTransform(scale, 0, 0, scale, 0, 0);
        }
        this.strip.canvas.width = Math.ceil(width) + 2;
        this.strip.canvas.height = 1;
        this.columns = this.strip.createImageData(this.strip.canvas.width, 1);
        this.overview = null;
        this.view.scrollBy(0);
    }

    /* ---- the picture */

    paint(state) {
        const {view, base, theme} = this;
        this.drawn = {lanes: 0, slices: 0, waits: 0, counters: 0, groups: 0};
        base.font = FONT;
        base.textBaseline = 'middle';
        base.fillStyle = theme.back;
        base.fillRect(0, 0, view.width, view.height);
        this.paintGrid();
        this.clipped(base, 0, TOP, () => {
            for (const row of view.rows) {
                const y = view.rowTop(row);
                if (y + row.height < TOP || y > view.height) continue;
                this.paintName(row, y);
                if (row.kind === 'lane')
                    this.clipped(base, GUTTER, TOP, () => this.paintLane(row.lane, y));
                if (row.kind === 'counter')
                    this.clipped(base, GUTTER, TOP, () => this.paintCounter(row.counter, y));
                this.drawn[`${row.kind}s`]++;
            }
            if (state.isCritical) this.clipped(base, GUTTER, TOP, () => this.paintCritical());
        });
        this.paintOverview();
        this.paintScrollBar();
    }

    clipped(context, x, y, paint) {
        context.save();
        context.beginPath();
        context.rect(x, y, this.view.width - x, this.view.height - y);
        context.clip();
        paint();
        context.restore();
    }

    /* Distance of the lines of time: 1, 2 or 5 times a power of ten. */
    step() {
        const least = 100 * this.view.nsPerPixel, power = 10 ** Math.floor(Math.log10(least));
        return Math.max(1, power * [1, 2, 5, 10].find(factor => factor * power >= least * 0.9999));
    }

    paintGrid() {
        const {view, base, theme} = this, step = this.step();
        base.fillStyle = theme.muted;
        base.strokeStyle = theme.line;
        base.lineWidth = 1;
        base.beginPath();
        for (let i = Math.max(0, Math.ceil(view.from / step)); i * step <= view.to; i++) {
            const x = Math.round(view.x(i * step)) + 0.5;
            base.moveTo(x, OVERVIEW + 4);
            base.lineTo(x, view.height);
            base.fillText(moment(i * step, step, view.to), x + 4, OVERVIEW + AXIS / 2 + 1);
        }
        base.moveTo(0, TOP - 0.5);
        base.lineTo(view.width, TOP - 0.5);
        base.stroke();
    }

    paintName(row, y) {
        const {base, theme, view} = this;
        if (row.kind === 'group') {
            base.fillStyle = theme.group;
            base.fillRect(0, y, view.width, row.height);
            base.fillStyle = theme.text;
            base.font = `600 ${FONT}`;
            const name = `${row.isFolded ? '▸' : '▾'} ${row.name}`;
            base.fillText(name, 10, y + row.height / 2 + 1);
            const end = 10 + base.measureText(name).width;
            base.font = FONT;
            if (row.simulated) {
                base.fillStyle = theme.accent;
                base.fillText('simulated', end + 9, y + row.height / 2 + 1);
            }
            return;
        }
        base.fillStyle = theme.line;
        base.fillRect(0, y + row.height - 1, view.width, 1);
        base.fillStyle = theme.back;
        base.fillRect(0, y, GUTTER - 1, row.height - 1);
        base.fillStyle = theme.text;
        const {name} = row.lane ?? row.counter;
        base.fillText(this.shortened(name, GUTTER - 34), 24, y + (row.lane ? row.height / 2 : 13));
        if (row.counter) {
            base.fillStyle = theme.muted;
            base.fillText(
                this.shortened(`most ${amount(row.counter.most, row.counter.unit)}`, GUTTER - 34),
                24, y + 28);
        }
        base.fillStyle = theme.line;
        base.fillRect(GUTTER - 1, y, 1, row.height);
    }

    width(text) {
        let width = this.widths.get(text);
        if (width === undefined) {
            if (this.widths.size > 5000) this.widths.clear();
            this.widths.set(text, width = this.base.measureText(text).width);
        }
        return width;
    }

    shortened(text, room) {
        if (this.width(text) <= room) return text;
        const count = Math.floor(room / this.width(text) * text.length) - 1;
        return count > 1 ? `${text.slice(0, count)}…` : '';
    }

    paintLane(lane, y) {
        const {view, base, theme} = this, {height} = view.rowOfLane[lane.index];
        base.strokeStyle = theme.wait;
        base.lineWidth = 1;
        let drawnTo = -Infinity;
        for (let i = firstWhere(0, lane.waits.length, j => lane.waitEnds[j] > view.from);
             i < lane.waits.length && lane.waits[i].start < view.to; i++) {
            const wait = lane.waits[i], x = Math.max(view.x(wait.start), GUTTER - 10);
            const width = Math.max(1, Math.min(view.x(wait.end), view.width + 10) - x);
            this.drawn.waits++;
            if (x + width <= drawnTo + 0.5) continue;
            drawnTo = Math.max(drawnTo, x + width);
            base.globalAlpha = view.model.marks ? 0.4 : 1;
            base.fillStyle = width > 3 ? this.hatch : theme.wait;
            base.fillRect(x, y + 2, width, height - 5);
            if (width > 3) base.strokeRect(x + 0.5, y + 2.5, width - 1, height - 6);
            base.globalAlpha = 1;
        }
        lane.levels.forEach(
            (level, depth) => this.paintLevel(level, y + LANE_MARGIN + depth * SLICE_HEIGHT));
    }

    paintLevel(level, y) {
        const {view, base} = this, {start, end, marked} = level;
        const count = start.length, pixel = view.nsPerPixel;
        const first = Math.floor(view.from / pixel);
        let hasColumns = false;
        for (let i = level.firstEndingAfter(view.from); i < count && start[i] < view.to;) {
            const width = (end[i] - start[i]) / pixel;
            if (width >= 2) {
                this.paintSlice(level.slices[i], y, width, marked && marked[i + 1] === marked[i]);
                this.drawn.slices++;
                i++;
                continue;
            }
            // All that begin in this pixel of the time's own raster, so that moving the view does
            // not flicker; but the last of them may be long, and is drawn by itself.
            const column = Math.floor(start[i] / pixel);
            let next = level.firstStartingAt((column + 1) * pixel, i + 1);
            if (next > i + 1 && (end[next - 1] - start[next - 1]) / pixel >= 2) next--;
            let shown = i;
            const hasMarked = marked && marked[next] > marked[i];
            if (hasMarked)
                shown = firstWhere(i, next, j => marked[j + 1] > marked[i]);
            else
                for (let j = i + 1; j < Math.min(next, i + 8); j++)
                    if (end[j] - start[j] > end[shown] - start[shown]) shown = j;
            const busy = Math.min(1, Math.max(0.35, (level.busy[next] - level.busy[i]) / pixel));
            this.putColumn(
                column - first, level.slices[shown].call, marked ? (hasMarked ? 1 : DIM) : busy);
            hasColumns = true;
            this.drawn.slices += next - i;
            i = next;
        }
        if (!hasColumns) return;
        const {canvas} = this.strip;
        this.strip.putImageData(this.columns, 0, 0);
        this.columns.data.fill(0);
        base.imageSmoothingEnabled = false;
        base.drawImage(canvas, view.x(first * pixel), y, canvas.width, SLICE_HEIGHT - 1);
    }

    /* Columns of a level are gathered in a strip one pixel high, which is a lot faster than a
     * rectangle for each. */
    putColumn(index, call, alpha) {
        if (index < 0 || index >= this.columns.width) return;
        const {data} = this.columns;
        const [red, green, blue] =
            call.flags & FAILED ? this.failedChannels : this.channels[call.colour];
        data[4 * index] = red;
        data[4 * index + 1] = green;
        data[4 * index + 2] = blue;
        data[4 * index + 3] = 255 * alpha;
    }

    paintSlice(slice, y, width, isDim) {
        const {view, base, theme} = this, {call} = slice, height = SLICE_HEIGHT - 1;
        const x = Math.max(view.x(slice.start), GUTTER - 4),
              room = Math.min(view.x(slice.start) + width, view.width + 4) - x;
        base.globalAlpha = isDim ? DIM : 1;
        base.fillStyle = this.colourOf(call);
        base.fillRect(x, y, room > 3 ? room - 0.5 : room, height);
        if (call.flags & SKIPPED) {
            base.fillStyle = this.failedHatch;
            base.fillRect(x, y, room, height);
        }
        base.fillStyle = '#0006';
        if (call.flags & BACKWARD) base.fillRect(x, y + height - 3, room, 3);
        if (call.flags & COLLECTIVE) base.fillRect(x, y, room, 3);
        if (room > 26 && !isDim) {
            const text = Math.max(x, GUTTER) + 4, space = x + room - text - 5;
            base.fillStyle = '#10131a';
            const label = this.shortened(call.operation, space);
            base.fillText(label, text, y + height / 2 + 0.5);
            const used = this.width(label) + 7, time = duration(slice.end - slice.start);
            if (label && space - used > this.width(time)) {
                base.globalAlpha *= 0.62;
                base.fillText(time, text + used, y + height / 2 + 0.5);
            }
        }
        base.globalAlpha = 1;
    }

    /* Steps; where points are closer than a pixel, the most of them. */
    paintCounter(counter, y) {
        const {view, base, theme} = this, bottom = y + COUNTER_HEIGHT - 2,
                           height = COUNTER_HEIGHT - 8;
        const top = value =>
            bottom - (counter.most > 0 ? Math.max(0, value) / counter.most * height : 0);
        let i =
            Math.max(0, firstWhere(0, counter.time.length, j => counter.time[j] > view.from) - 1);
        base.beginPath();
        base.moveTo(view.x(counter.time[i] ?? 0), bottom);
        let at = bottom, last = GUTTER;
        while (i < counter.time.length && counter.time[i] <= view.to) {
            const x = Math.max(GUTTER - 2, view.x(counter.time[i]));
            let most = counter.value[i], final = most;
            for (i++; i < counter.time.length && view.x(counter.time[i]) < x + 0.7; i++) {
                final = counter.value[i];
                most = Math.max(most, final);
            }
            base.lineTo(x, at);
            base.lineTo(x, top(most));
            if (most !== final) base.lineTo(x + 0.7, top(final));
            at = top(final);
            last = x;
        }
        last = Math.max(last, Math.min(view.x(view.model.end), view.width + 2));
        base.lineTo(last, at);
        base.strokeStyle = base.fillStyle = theme.area;
        base.lineWidth = 1.2;
        base.stroke();
        base.lineTo(last, bottom);
        base.closePath();
        base.globalAlpha = 0.4;
        base.fill();
        base.globalAlpha = 1;
    }

    paintCritical() {
        const {view, base, theme} = this;
        base.strokeStyle = theme.accent;
        base.lineWidth = 1.5;
        base.beginPath();
        let before = null, x = 0;
        for (const call of view.model.critical.calls) {
            const next = call.slices[0];
            if (!next) continue;
            if (before && before.end > view.from - (view.to - view.from) &&
                next.start < 2 * view.to - view.from &&
                (before.lane !== next.lane || view.x(next.start) - x > 1)) {
                base.moveTo(view.x(before.end), this.middle(before));
                base.lineTo(view.x(next.start), this.middle(next));
                x = view.x(next.start);
            }
            before = call.slices.at(-1);
        }
        base.stroke();
    }

    middle(slice) { return this.view.sliceTop(slice) + (SLICE_HEIGHT - 1) / 2; }

    /* How many lanes are busy over all of the time, and which part of it is visible. */
    paintOverview() {
        const {view, base, theme} = this, width = view.width - GUTTER, last = view.model.end;
        base.fillStyle = theme.panel;
        base.fillRect(0, 0, view.width, OVERVIEW);
        base.fillStyle = theme.muted;
        base.fillText('all of it', 24, OVERVIEW / 2 + 1);
        if (!this.overview) {
            const columns = Math.max(1, Math.floor(width / 2));
            this.overview = new Float64Array(columns);
            for (const {levels: [level]} of view.model.lanes)
                for (let i = 0, before = 0; level && i < columns; i++) {
                    const busy = level.busyBefore((i + 1) * last / columns);
                    this.overview[i] += (busy - before) * columns / last;
                    before = busy;
                }
        }
        const most = this.overview.reduce((a, b) => Math.max(a, b), 1);
        base.fillStyle = theme.area;
        this.overview.forEach((busy, i) => {
            const height = busy / most * (OVERVIEW - 4);
            base.fillRect(GUTTER + 2 * i, OVERVIEW - height, 2, height);
        });
        const from = GUTTER + Math.max(0, view.from / last) * width,
              to = GUTTER + Math.min(1, view.to / last) * width;
        base.globalAlpha = 0.65;
        base.fillStyle = theme.back;
        base.fillRect(GUTTER, 0, from - GUTTER, OVERVIEW);
        base.fillRect(to, 0, view.width - to, OVERVIEW);
        base.globalAlpha = 1;
        base.strokeStyle = theme.accent;
        base.lineWidth = 1;
        base.strokeRect(from + 0.5, 0.5, Math.max(1, to - from - 1), OVERVIEW - 1);
    }

    paintScrollBar() {
        const {view, base} = this, room = view.height - TOP;
        if (view.rowsHeight <= room) return;
        base.fillStyle = this.theme.muted;
        base.globalAlpha = 0.6;
        base.fillRect(
            view.width - 6, TOP + view.scroll / view.rowsHeight * room, 4,
            room * room / view.rowsHeight);
        base.globalAlpha = 1;
    }

    /* ---- above it: what is pointed at, what is selected, and its arrows */

    paintOverlay(state) {
        const {view, overlay, theme} = this;
        this.arrows = 0;
        overlay.clearRect(0, 0, view.width, view.height);
        overlay.font = FONT;
        overlay.textBaseline = 'middle';
        if (state.pointer && state.pointer.x > GUTTER && !state.range)
            this.paintCursor(state.pointer.x);
        this.clipped(overlay, GUTTER, TOP, () => {
            if (state.hit?.slice) this.outline(state.hit.slice, theme.text, 1);
            if (state.call) this.paintSelectedCall(state.call);
            if (state.wait) this.paintSelectedWait(state.wait);
        });
        if (state.range) this.paintRange(state.range);
    }

    outline({lane, start, end, depth}, colour, width) {
        const {view, overlay} = this, x = view.x(start);
        overlay.strokeStyle = colour;
        overlay.lineWidth = width;
        overlay.strokeRect(
            x - width / 2, view.sliceTop({lane, depth}) - width / 2,
            Math.max(1, view.x(end) - x) + width, SLICE_HEIGHT - 1 + width);
    }

    paintSelectedCall(call) {
        const {view, overlay, theme} = this;
        for (const slice of call.slices) this.outline(slice, theme.chosen, 2);
        const first = this.firstOf(call);
        if (!first) return;
        // Its wait: dashed until its inputs were there, then solid until it began.
        overlay.strokeStyle = theme.chosen;
        overlay.lineWidth = 1.5;
        const y = view.sliceTop(first) + SLICE_HEIGHT + 1.5,
              ready = view.x(Math.min(call.ready, first.start));
        overlay.setLineDash([3, 3]);
        this.line(view.x(Math.min(call.issue, first.start)), y, ready, y);
        overlay.setLineDash([]);
        this.line(ready, y, view.x(first.start), y);
        this.line(view.x(call.issue), y - 3, view.x(call.issue), y + 3);
        for (const dependency of call.dependencies.slice(0, 300))
            this.arrow(this.lastOf(dependency), first, theme.accent);
        const last = this.lastOf(call);
        for (const dependent of call.dependents.slice(0, 300))
            this.arrow(last, this.firstOf(dependent), theme.muted);
    }

    paintSelectedWait(wait) {
        const {view, overlay, theme} = this;
        const row = view.rowOfLane[wait.lane.index], x = view.x(wait.start);
        overlay.strokeStyle = theme.chosen;
        overlay.lineWidth = 2;
        overlay.strokeRect(
            x, view.rowTop(row) + 2, Math.max(1, view.x(wait.end) - x), row.height - 5);
        if (wait.lastCall)
            this.arrow(
                this.lastOf(wait.lastCall),
                {lane: wait.lane, depth: 0, start: wait.end, end: wait.end}, theme.accent);
    }

    firstOf(call) {
        return call.slices.reduce((a, b) => !a || b.start < a.start ? b : a, null);
    }

    lastOf(call) { return call.slices.reduce((a, b) => !a || b.end > a.end ? b : a, null); }

    line(x1, y1, x2, y2) {
        const {overlay} = this;
        overlay.beginPath();
        overlay.moveTo(x1, y1);
        overlay.lineTo(x2, y2);
        overlay.stroke();
    }

    /* From the end of a slice to the begin of another: to its side, or above the others of the same
     * row to its top. */
    arrow(from, to, colour) {
        if (!from || !to) return;
        const {view, overlay} = this, isSameRow = view.sliceTop(from) === view.sliceTop(to);
        const x1 = view.x(from.end), x2 = view.x(to.start) + (isSameRow ? 1 : 0);
        const y1 = isSameRow ? view.sliceTop(from) : this.middle(from),
              y2 = isSameRow ? y1 : this.middle(to);
        const bend = isSameRow ? Math.min(40, Math.abs(x2 - x1) / 3) :
                                 Math.max(24, Math.min(90, Math.abs(x2 - x1) / 2));
        overlay.strokeStyle = overlay.fillStyle = colour;
        overlay.lineWidth = 1.6;
        overlay.beginPath();
        overlay.moveTo(x1, y1);
        if (isSameRow)
            overlay.bezierCurveTo(x1 + bend / 2, y1 - 22, x2 - bend / 2, y2 - 22, x2, y2 - 6);
        else
            overlay.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2 - 6, y2);
        overlay.stroke();
        overlay.beginPath();
        overlay.moveTo(x2, y2);
        overlay.lineTo(x2 - (isSameRow ? 4 : 8), y2 - (isSameRow ? 8 : 4));
        overlay.lineTo(x2 + (isSameRow ? 4 : -8), y2 + (isSameRow ? -8 : 4));
        overlay.fill();
        this.arrows++;
    }

    paintCursor(x) {
        const {view, overlay, theme} = this;
        const text = moment(view.time(x), Math.max(1, view.nsPerPixel), view.to);
        overlay.strokeStyle = theme.muted;
        overlay.lineWidth = 1;
        overlay.globalAlpha = 0.5;
        this.line(Math.round(x) + 0.5, TOP, Math.round(x) + 0.5, view.height);
        overlay.globalAlpha = 1;
        this.label(text, x);
    }

    label(text, x) {
        const {overlay, theme, view} = this, width = overlay.measureText(text).width + 10;
        const left = Math.min(view.width - width, Math.max(GUTTER, x - width / 2));
        overlay.fillStyle = theme.text;
        overlay.fillRect(left, OVERVIEW + 3, width, AXIS - 6);
        overlay.fillStyle = theme.back;
        overlay.fillText(text, left + 5, OVERVIEW + AXIS / 2 + 0.5);
    }

    paintRange([a, b]) {
        const {view, overlay, theme} = this, x1 = Math.min(a, b), x2 = Math.max(a, b);
        overlay.fillStyle = theme.accent;
        overlay.globalAlpha = 0.18;
        overlay.fillRect(x1, TOP, x2 - x1, view.height);
        overlay.globalAlpha = 1;
        this.label(duration(view.time(x2) - view.time(x1)), (x1 + x2) / 2);
    }
}
