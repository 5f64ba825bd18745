import { describeFaults } from '../plant.ts';
import { FAULTS } from './faults.ts';

describeFaults('the oddities', FAULTS);
