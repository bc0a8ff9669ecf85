package flowsim.differential;

import java.util.Collection;
import java.util.StringJoiner;
import org.apache.flink.streaming.api.windowing.windows.GlobalWindow;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.api.windowing.windows.Window;

/** How windows are written in scripts and answers: {@code start:end}, or {@code global}. */
final class WindowWords {
    private WindowWords() {}

    static Window read(String word) {
        if (word.equals("global")) {
            return GlobalWindow.get();
        }
        String[] bounds = word.split(":");
        return new TimeWindow(Long.parseLong(bounds[0]), Long.parseLong(bounds[1]));
    }

    static String write(Window window) {
        if (window == null) {
            return "none";
        }
        return window instanceof TimeWindow
                ? ((TimeWindow) window).getStart() + ":" + ((TimeWindow) window).getEnd()
                : "global";
    }

    /** In the order in which the collection gives them out. */
    static String write(Collection<? extends Window> windows) {
        StringJoiner words = new StringJoiner(",", "[", "]");
        for (Window window : windows) {
            words.add(write(window));
        }
        return words.toString();
    }
}
