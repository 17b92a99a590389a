//! Keeps scripts that tests run in the board's page.

#![allow(dead_code, reason = "each test binary uses some of it")]

/// Makes the page draw everything, twenty times, each time after an answer of the server.
pub(crate) const DRAWN_OFTEN: &str = "(async () => {
    const field = document.querySelector('#query');
    for (let time = 0; time < 20; time++) {
        await fetch('/explain?');
        field.oninput({target: field});
        await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    }
})()";

/// The contrast of each visible text with its background, where it is too low.
pub(crate) const PALE: &str = "(() => {
    const light = ([r, g, b]) => [r, g, b].map(one => one / 255).map(one => one <= .04045 ? one / 12.92 : ((one + .055) / 1.055) ** 2.4)
        .reduce((sum, one, index) => sum + one * [.2126, .7152, .0722][index], 0);
    const parts = color => color.match(/[\\d.]+/g).map(Number);
    const ground = element => {
        for (let one = element; one; one = one.parentElement) {
            const parted = parts(getComputedStyle(one).backgroundColor);
            if (parted.length === 3 || parted[3] === 1) return parted;
        }
    };
    return [...document.body.querySelectorAll('*')].filter(one => one.offsetParent && [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim())).map(one => {
        const [above, below] = [light(parts(getComputedStyle(one).color)), light(ground(one))].sort((a, b) => b - a);
        return [one.textContent, (above + .05) / (below + .05)];
    }).filter(([, ratio]) => !(ratio >= 4.5));
})()";

/// Each visible text that something cuts off: a box that hides what is outside, or a neighbor in a list. Output of commands
/// scrolls in its own box, and is not cut.
pub(crate) const CUT: &str = "(() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const cut = [];
    for (let node; (node = walker.nextNode()); ) {
        const element = node.parentElement;
        if (!node.data.trim() || element.closest('[hidden], pre') || !element.checkVisibility()) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        const rects = [...range.getClientRects()];
        if (element.clientWidth && element.scrollWidth > element.clientWidth + 1) cut.push(`wide: ${node.data}`);
        const [left, right] = [Math.min(...rects.map(one => one.left)), Math.max(...rects.map(one => one.right))];
        if (left < -1 || right > innerWidth + 1) cut.push(`outside: ${node.data}`);
        for (let box = element; box !== document.body; box = box.parentElement) {
            if (getComputedStyle(box).overflowX === 'visible') continue;
            const around = box.getBoundingClientRect();
            if (left < around.left - 1 || right > around.right + 1) cut.push(`in ${box.id || box.className}: ${node.data}`);
        }
        const row = element.closest('.row');
        if (row && row.scrollHeight > row.clientHeight + 1) cut.push(`high: ${node.data}`);
    }
    return [...new Set(cut)];
})()";
