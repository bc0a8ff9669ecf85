package flowsim.differential;

/** Acts as the caller's thread or as a neighbour. */
final class Threads {
    private Threads() {}

    /** Runs the action on this thread, or on another one that has ended when this returns; throws what the action threw. */
    static void act(boolean inside, Runnable action) throws InterruptedException {
        if (inside) {
            action.run();
            return;
        }
        RuntimeException[] refused = new RuntimeException[1];
        Thread other =
                new Thread(
                        () -> {
                            try {
                                action.run();
                            } catch (RuntimeException e) {
                                refused[0] = e;
                            }
                        });
        other.start();
        other.join();
        if (refused[0] != null) {
            throw refused[0];
        }
    }
}
