//! The words of the engine, the path computation and the data path. Types that cannot hold a wrong value.
